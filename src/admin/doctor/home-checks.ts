import { accessSync, chmodSync, constants, existsSync, readdirSync, readFileSync, statfsSync, statSync } from "node:fs"
import { assertNever } from "../../base/assert-never.ts"
import { diskProblem } from "../../base/disk-problem.ts"
import { fileSize } from "../../base/file-size.ts"
import { ok } from "../../base/result.ts"
import { codePointLength } from "../../base/text.ts"
import { ensureHome, secretMode, type Home } from "../../config/home.ts"
import { chooseEmbeddingsFor } from "../../app/services/embeddings.ts"
import { maskAddressPasswords, PROVIDER_KEY_VARIABLES } from "../../config/secrets.ts"
import { memoryPaths, readMemoryFile } from "../../knowledge/memory/memory-file.ts"
import { listStagedWrites } from "../../knowledge/memory/staged-writes.ts"
import { scanThreats } from "../../knowledge/threat-scan.ts"
import { counted } from "../../base/counted.ts"
import { infoFinding, okFinding, type DoctorContext, type Finding, type Section } from "./finding.ts"

const DIRECTORIES = ["", "cron", "sessions", "logs", "memories", "pairing", "hooks", "skills", "cache"]
const SECRET_FILES = [
  ".env",
  "config.yaml",
  "auth.json",
  "state.db",
  "state.db-wal",
  "state.db-shm",
  "shell-hooks-allowlist.json",
]

export const secretsSection: Section = {
  title: "Secrets",
  check: (context) => {
    const found = [...permissionFindings(context), ...placeholderFindings(context)]
    if (found.length > 0) return found
    if (secretMode(context.environment) === undefined)
      return [infoFinding("file permissions are not checked here: in a container, or turned off by a variable")]
    return [okFinding("keys and secret files are readable by you alone")]
  },
}

export const directoriesSection: Section = {
  title: "Directories",
  check: ({ home, environment }) => {
    const missing = DIRECTORIES.filter(
      (name) => statSync(home.file(name), { throwIfNoEntry: false })?.isDirectory() !== true,
    )
    const disk = diskFindings(home)
    if (missing.length === 0) return [okFinding(`${home.display()} is complete`), ...disk]
    const names = missing.map((name) => (name === "" ? home.display() : name)).join(", ")
    return [
      {
        level: "warning",
        text: `missing: ${names}`,
        fix: "they are created on first use",
        repair: {
          announcement: `Creating ${names}.`,
          run: () => {
            ensureHome(home, environment)
            return Promise.resolve(ok(undefined))
          },
        },
      },
      ...disk,
    ]
  },
}

/** A turn with images and large results needs a few megabytes; a repair needs room for a copy of the database. */
const LITTLE_SPACE_BYTES = 200 * 1024 * 1024

function diskFindings(home: Home): readonly Finding[] {
  const path = home.display()
  if (!existsSync(home.path)) return []
  const problem = diskProblem(home.path)
  switch (problem) {
    case "full":
      return [
        {
          level: "failure",
          text: `the disk that holds ${path} is full, so conversations are not stored`,
          fix: "free some space",
        },
      ]
    case "read-only":
      return [
        {
          level: "failure",
          text: `${path} is on a read-only file system, so conversations are not stored`,
          fix: "make it writable, or set HERMES_HOME to another directory",
        },
      ]
    case undefined:
      return isWritable(home.path)
        ? spaceFindings(home)
        : [{ level: "failure", text: `you may not write to ${path}`, fix: `chown or chmod ${path}` }]
    default:
      return assertNever(problem)
  }
}

function spaceFindings(home: Home): readonly Finding[] {
  const { bavail, bsize } = statfsSync(home.path)
  const free = bavail * bsize
  if (free >= LITTLE_SPACE_BYTES) return []
  const text = `only ${fileSize(free)} are free on the disk that holds ${home.display()}`
  return [{ level: "warning", text, fix: "free some space before it is full" }]
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    // The reason does not matter: the finding tells what to do.
    return false
  }
}

export const memorySection: Section = {
  title: "Persona and memory",
  check: (context) => {
    const { home, config } = context
    const { memoryPath, userPath, stagingPath } = memoryPaths(home.path)
    const memory = { name: "MEMORY.md", limit: config.get("memory.memory_char_limit") }
    const user = { name: "USER.md", limit: config.get("memory.user_char_limit") }
    const waiting = listStagedWrites(stagingPath).length
    return [
      sizeFinding(home.file("SOUL.md"), { name: "SOUL.md", limit: config.get("context_file_max_chars") }),
      sizeFinding(memoryPath, memory),
      ...injectionFindings(memoryPath, memory),
      sizeFinding(userPath, user),
      ...injectionFindings(userPath, user),
      ...(waiting === 0
        ? []
        : [
            infoFinding(
              `${counted(waiting, "change")} of memory waiting for your decision; use /memory in a conversation`,
            ),
          ]),
      ...embeddingsFindings(context),
    ]
  },
}

function embeddingsFindings(context: DoctorContext): readonly Finding[] {
  if (!context.config.get("memory.semantic.enabled")) return []
  const embeddings = chooseEmbeddingsFor(context)
  if (!embeddings.ok)
    return [
      {
        level: "warning",
        text: `session search uses words only: ${embeddings.error}`,
        fix: "hermes config set memory.semantic.provider NAME, or hermes config set memory.semantic.enabled false",
      },
    ]
  const { baseUrl, model } = embeddings.value
  return [okFinding(`embeddings for session search: ${model} from ${maskAddressPasswords(baseUrl)}`)]
}

/** A file of which only `limit` characters are used. */
interface LimitedFile {
  readonly name: string
  readonly limit: number
}

/** The model gets a warning instead of such entries, so the user should know about them. */
function injectionFindings(path: string, { name, limit }: LimitedFile): readonly Finding[] {
  const content = readMemoryFile({ path, limitChars: limit })
  const entries = content.kind === "unreadable" ? [] : content.entries
  const suspicious = entries.filter((entry) => scanThreats(entry, "strict").length > 0).length
  if (suspicious === 0) return []
  const what = suspicious === 1 ? "1 entry looks" : `${suspicious} entries look`
  return [
    {
      level: "warning",
      text: `${name}: ${what} like prompt injection; the model gets a warning instead of ${suspicious === 1 ? "it" : "them"}`,
      fix: `read ${path} and remove what you did not write`,
    },
  ]
}

/** Reports nothing where permission bits have no effect (Windows, containers). */
function permissionFindings({ home, environment }: DoctorContext): readonly Finding[] {
  const mode = secretMode(environment)
  if (mode === undefined) return []
  const dumps = namesIn(home.file("sessions")).filter((name) => name.startsWith("request_dump_"))
  const files = [...SECRET_FILES, ...dumps.map((name) => `sessions/${name}`)].map((name) => home.file(name))
  return files.flatMap((path): Finding[] => {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats?.isFile() !== true || (stats.mode & 0o077) === 0) return []
    return [
      {
        level: "failure",
        text: `${home.display(path)} can be read by others (mode ${(stats.mode & 0o777).toString(8)})`,
        fix: `chmod 600 ${home.display(path)}`,
        repair: {
          announcement: `Making ${home.display(path)} private.`,
          run: () => {
            chmodSync(path, mode)
            return Promise.resolve(ok(undefined))
          },
        },
      },
    ]
  })
}

const PLACEHOLDER =
  /^(?:your[-_ ]|<.*>$|changeme|change[-_]me|replace[-_]|todo$|xxx+$|\.\.\.$|sk-\.\.\.|none$|null$|test$|placeholder|api[-_]?key$)/i

function placeholderFindings({ environment }: DoctorContext): readonly Finding[] {
  return PROVIDER_KEY_VARIABLES.flatMap((name): Finding[] => {
    const value = (environment.get(name) ?? "").trim()
    if (value === "" || !PLACEHOLDER.test(value)) return []
    return [
      {
        level: "warning",
        text: `${name} contains a placeholder, not a key`,
        fix: `hermes config set ${name} KEY, or hermes config unset ${name}`,
      },
    ]
  })
}

function sizeFinding(path: string, { name, limit }: LimitedFile): Finding {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return infoFinding(`${name} does not exist yet`)
  const length = codePointLength(readFileSync(path, "utf8"))
  if (length <= limit) return okFinding(`${name}: ${length} of ${limit} characters`)
  return { level: "warning", text: `${name}: ${length} characters, of which ${limit} are used`, fix: `shorten ${path}` }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    // The directories section reports a missing directory.
    return []
  }
}
