import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { isRecord, parseJson } from "../../base/json.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { rememberExecutedFiles, restoreExecutedFiles } from "./executed-files.ts"
import type { ExecutedFiles, ExecutedFilesOptions } from "./executed-files.ts"
import { storedState } from "./file-state.ts"
import { checkNewLinks } from "./new-links.ts"
import { checkNewRepositories } from "./new-repositories.ts"
import { checkNewFiles } from "./new-project-files.ts"
import { noticeTexts } from "./notice-text.ts"
import { createProjectIndex } from "../project/project-index.ts"
import { createSubmoduleLookup } from "../project/submodule-paths.ts"
import { renameUndecodable } from "./undecodable-names.ts"
import { createWorkingTreeChanges } from "./working-tree-changes.ts"

/** What the check after a command compares with. It is on the disk while the command runs, because Hermes may be killed in between. */
interface StoredCheck {
  readonly options: ExecutedFilesOptions
  /** The directory in which new repositories are looked for, and those that were known. */
  readonly root: string
  readonly repositories: readonly string[]
  /** Those of them that were not there before the session. */
  readonly created: readonly string[]
}

export interface RecordedFiles extends ExecutedFiles {
  /** The files whose state was remembered, whether they existed or not. */
  readonly remembered: ReadonlySet<string>
  /** Deletes the record. Call it after the checks. */
  finished(): void
}

/** Remembers the state before a command, in memory and in the Hermes home, which commands in the sandbox cannot see. */
export function recordExecutedFiles(
  hermesHome: string,
  { options, root, repositories, created }: StoredCheck,
  before: Parameters<typeof rememberExecutedFiles>[1],
): RecordedFiles {
  const files = rememberExecutedFiles(options, before)
  const directory = recordsIn(hermesHome)
  const path = recordPath(directory)
  const state = files.state()
  const record = {
    started: performance.timeOrigin,
    commandStarted: before.startedMs,
    root,
    repositories,
    created,
    options,
    state,
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  // Not synced: what a killed process wrote is still there.
  writeFileSync(path, JSON.stringify(record), { mode: 0o600 })
  return {
    ...files,
    remembered: new Set(state.map(([path]) => path)),
    finished: () => {
      rmSync(path, { force: true })
    },
  }
}

/**
 * Makes the checks of commands during which Hermes was killed, and reads notices that it had not shown. `keep` stores the texts for the
 * user before their record is deleted.
 */
export async function checkInterrupted(
  { hermesHome, path: programs }: { readonly hermesHome: string; readonly path: string },
  keep: (texts: readonly string[]) => void,
): Promise<void> {
  const directory = recordsIn(hermesHome)
  for (const name of recordNames(directory)) {
    const path = join(directory, name)
    const record = readRecord(path)
    const pid = Number(/^\d+/u.exec(name)?.[0])
    if (isRecord(record) && isRunning(pid, record["started"])) continue
    const claimed = claim(path, directory)
    if (claimed === undefined) continue
    const unshown = strings(isRecord(record) ? record["notices"] : [])
    const found = noticeTexts(await checkRecord(record, programs))
    keep([
      ...(unshown.length === 0 ? [] : [UNSHOWN, ...unshown]),
      ...(found.length === 0 ? [] : [INTERRUPTED, ...found]),
    ])
    rmSync(claimed, { force: true })
  }
}

function readRecord(path: string): unknown {
  try {
    return parseJson(readFileSync(path, "utf8"))
  } catch {
    // Another process has just taken it over.
    return undefined
  }
}

/** Takes a record over. Undefined when another process was faster. */
function claim(path: string, directory: string): string | undefined {
  const claimed = recordPath(directory)
  try {
    renameSync(path, claimed)
    return claimed
  } catch {
    // It is gone.
    return undefined
  }
}

function recordPath(directory: string): string {
  return join(directory, `${process.pid}-${randomHex(6)}.json`)
}

const UNSHOWN = "An earlier Hermes ended before it showed you what it found after a command:"
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
async function checkRecord(record: unknown, path: string): Promise<readonly string[]> {
  if (!isRecord(record) || !Array.isArray(record["state"]) || typeof record["root"] !== "string") return []
  const { directories, writable, opened, treeLines, gitLines, keepsNew, home, gitHome } = isRecord(record["options"])
    ? record["options"]
    : {}
  const { root, commandStarted: startedMs } = record
  if (typeof startedMs !== "number") return []
  const userHome = isRecord(home) && typeof home["path"] === "string" ? home["path"] : undefined
  const inHome = strings(isRecord(home) ? home["writable"] : [])
  const watched = {
    directories: strings(directories),
    writable: {
      directories: [record["root"], ...strings(isRecord(writable) ? writable["directories"] : []), ...inHome],
      except: strings(isRecord(writable) ? writable["except"] : []),
    },
    opened: strings(opened),
    treeLines: Array.isArray(treeLines) ? strings(treeLines) : undefined,
    gitLines: strings(gitLines),
    keepsNew: keepsNew === true ? (true as const) : undefined,
  }
  const files = restoreExecutedFiles(
    {
      ...watched,
      home: userHome === undefined ? undefined : { path: userHome, writable: inHome },
      gitHome: typeof gitHome === "string" ? gitHome : undefined,
    },
    { state: record["state"], startedMs },
  )
  const repositories = strings(record["repositories"])
  const tree = createWorkingTreeChanges(
    { root, repositories, removed: new Map(), searchPath: path, isAlone: () => false },
    watched,
  )
  const changed = files.check(tree)
  const { writable: inReach } = watched
  const index = createProjectIndex(root, undefined, startedMs)
  const reported = new Set<string>()
  const { search, texts: renamed } = await renameUndecodable(await index.update(), {
    searchAgain: () => index.update(),
    isFromGit: watched.treeLines !== undefined,
    writable: inReach,
    startedMs,
    reported,
  })
  return [
    ...changed,
    ...renamed,
    ...(await checkNewFiles(search, { root, startedMs, tree }, watched)),
    ...checkNewLinks(search, { root, startedMs, writable: inReach, keepsNew: watched.keepsNew }),
    ...(await checkNewRepositories(
      {
        root,
        known: new Set(repositories),
        created: new Set(strings(record["created"])),
        remembered: new Set(record["state"].flatMap(storedState).map(([file]) => file)),
        opened: watched.opened,
        writable: inReach,
        startedMs,
        wasComplete: search.isComplete,
        submodules: createSubmoduleLookup(path),
        reported,
      },
      search,
    )),
    ...[tree.takeByGit() ?? []].flat(),
  ]
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : []
}
