import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { isRecord, parseJson } from "../../base/json.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { checkNewRepositories, rememberExecutedFiles, restoreExecutedFiles } from "./executed-files.ts"
import type { ExecutedFiles, ExecutedFilesOptions } from "./executed-files.ts"
import { searchProject } from "./git-repositories.ts"
import { checkNewFiles } from "./new-project-files.ts"

/** What the check after a command compares with. It is on the disk while the command runs, because Hermes may be killed in between. */
interface StoredCheck {
  readonly options: ExecutedFilesOptions
  /** The directory in which new repositories are looked for, and those that were known. */
  readonly root: string
  readonly repositories: readonly string[]
}

export interface RecordedFiles extends ExecutedFiles {
  /** Deletes the record. Call it after the checks. */
  finished(): void
}

/** Remembers the state before a command, in memory and in the Hermes home, which commands in the sandbox cannot see. */
export function recordExecutedFiles(hermesHome: string, { options, root, repositories }: StoredCheck): RecordedFiles {
  const files = rememberExecutedFiles(options)
  const directory = recordsIn(hermesHome)
  const path = join(directory, `${process.pid}-${randomHex(6)}.json`)
  const record = {
    started: performance.timeOrigin,
    commandStarted: Date.now(),
    root,
    repositories,
    options,
    state: files.state(),
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  // Not synced: what a killed process wrote is still there.
  writeFileSync(path, JSON.stringify(record), { mode: 0o600 })
  return {
    ...files,
    finished: () => {
      rmSync(path, { force: true })
    },
  }
}

/** Makes the checks of commands during which Hermes was killed. Returns what happened, for the user. */
export async function checkInterrupted(hermesHome: string): Promise<readonly string[]> {
  const directory = recordsIn(hermesHome)
  const texts: string[] = []
  for (const name of recordNames(directory)) {
    const path = join(directory, name)
    const record = parseJson(readFileSync(path, "utf8"))
    const pid = Number(/^\d+/u.exec(name)?.[0])
    if (isRecord(record) && isRunning(pid, record["started"])) continue
    rmSync(path, { force: true })
    texts.push(...(await checkRecord(record)))
  }
  return texts.length === 0 ? [] : [INTERRUPTED, ...texts]
}

const INTERRUPTED = "An earlier Hermes was killed while a command ran. Hermes now checked what the command left behind."

function recordsIn(hermesHome: string): string {
  return join(hermesHome, "cache", "sandbox", "running")
}

function recordNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory).filter((name) => /^\d+-[\da-f]+\.json$/u.test(name))
  } catch {
    // No command ran in the sandbox yet.
    return []
  }
}

/** In a container every Hermes may have the same process id. */
function isRunning(pid: number, started: unknown): boolean {
  if (pid === process.pid) return started === performance.timeOrigin
  try {
    process.kill(pid, 0)
    return true
  } catch {
    // It has exited, or belongs to another user now.
    return false
  }
}

/** A record is written by Hermes alone; one that was cut by a full disk is left out. */
async function checkRecord(record: unknown): Promise<readonly string[]> {
  if (!isRecord(record) || !Array.isArray(record["state"]) || typeof record["root"] !== "string") return []
  const { directories, opened, opensInstructions, keepsNew, home } = isRecord(record["options"])
    ? record["options"]
    : {}
  const userHome = isRecord(home) && typeof home["path"] === "string" ? home["path"] : undefined
  const watched = {
    directories: strings(directories),
    opened: strings(opened),
    opensInstructions: opensInstructions === true ? (true as const) : undefined,
    keepsNew: keepsNew === true ? (true as const) : undefined,
  }
  const files = restoreExecutedFiles(
    {
      ...watched,
      home:
        userHome === undefined
          ? undefined
          : { path: userHome, writable: strings(isRecord(home) ? home["writable"] : []) },
    },
    record["state"],
  )
  const { root, commandStarted: startedMs } = record
  const changed = files.check()
  const search = await searchProject(root)
  return [
    ...changed,
    ...(typeof startedMs === "number" ? checkNewFiles(search, { root, startedMs }, watched) : []),
    ...checkNewRepositories(root, new Set(strings(record["repositories"])), search),
  ]
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : []
}
