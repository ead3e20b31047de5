import { lstatSync, readdirSync } from "node:fs"
import type { Dirent } from "node:fs"
import { setImmediate as nextTick } from "node:timers/promises"

import { AGENT_INSTRUCTIONS, EXECUTED_IN_WORKSPACE } from "../../config/protected-paths.ts"
import { isOutputDirectory } from "../checkpoints/excluded-names.ts"
import { isClosedSince, openDirectory } from "./closed-directories.ts"
import { showsNextChange } from "./time-of-change.ts"

/** The directories of a project. Directories that are built or downloaded are left out. */
export interface ProjectIndex {
  /** Reads what has changed since the last update. Updates follow each other. An aborted one is continued by the next. */
  update(signal?: AbortSignal): Promise<ProjectSearch>
}

/** What an update found. */
export interface ProjectSearch {
  /**
   * The directories that are repositories, also bare ones, or have other files that programs execute or obey, with the names of these
   * files. The ones near the root come first.
   */
  readonly found: ReadonlyMap<string, readonly string[]>
  /** False when there are more directories than the limit. */
  readonly isComplete: boolean
  /** Whether the directory existed. */
  has(directory: string): boolean
}

export interface IndexLimits {
  readonly directories: number
  readonly depth: number
}

/** So many take about 8 MB, and an update of them 50 milliseconds. */
const MAX_DIRECTORIES = 20_000

export function createProjectIndex(
  root: string,
  limits: IndexLimits = { directories: MAX_DIRECTORIES, depth: Number.POSITIVE_INFINITY },
  /** Directories that were closed to their owner since then are opened. */
  openSinceMs = Number.POSITIVE_INFINITY,
): ProjectIndex {
  const known = new Map<string, KnownDirectory>()
  let generation = 0
  const update = async (signal: AbortSignal | undefined): Promise<ProjectSearch> => {
    const current = ++generation
    const found = new Map<string, readonly string[]>()
    const pause = createPause()
    let reached = 0
    let level = [root]
    for (let depth = 0; depth <= limits.depth && level.length > 0; depth += 1) {
      const below: string[] = []
      for (const directory of level) {
        const waiting = pause()
        if (waiting !== undefined) await waiting
        if (reached >= limits.directories || signal?.aborted === true) {
          return { found, isComplete: false, has: existedIn(current) }
        }
        const entry = look(directory, { before: known.get(directory), update: current, openSinceMs })
        if (entry === undefined) continue
        known.set(directory, entry)
        reached += 1
        if (entry.executed.length > 0) found.set(directory, entry.executed)
        const prefix = directory.endsWith("/") ? directory : `${directory}/`
        for (const name of entry.subdirectories) below.push(`${prefix}${name}`)
      }
      level = below
    }
    if (reached < known.size) for (const [path, { seen }] of known) if (seen < current) known.delete(path)
    return { found, isComplete: level.length === 0, has: existedIn(current) }
  }
  const existedIn =
    (then: number) =>
    (directory: string): boolean =>
      (known.get(directory)?.since ?? Number.POSITIVE_INFINITY) <= then
  let last: Promise<unknown> = Promise.resolve()
  return {
    update: (signal) => {
      const next = last.then(() => update(signal))
      last = next.catch(() => undefined)
      return next
    },
  }
}

interface KnownDirectory {
  readonly inode: number
  readonly changedMs: number
  /** False when it was read so soon after its last change that another one may have the same time. */
  readonly isSettled: boolean
  readonly subdirectories: readonly string[]
  /** Names of files that programs execute or obey. */
  readonly executed: readonly string[]
  /** The update that found it first, and the last one. */
  readonly since: number
  seen: number
}

/** A name that is added or removed changes the time of its directory, and no program can set that time. */
function look(
  path: string,
  {
    before,
    update,
    openSinceMs,
  }: { readonly before: KnownDirectory | undefined; readonly update: number; readonly openSinceMs: number },
): KnownDirectory | undefined {
  try {
    const facts = lstatSync(path, { throwIfNoEntry: false })
    if (facts?.isDirectory() !== true) return undefined
    if (isClosedSince(facts, openSinceMs)) openDirectory(path)
    const { ino: inode, ctimeMs: changedMs } = facts
    if (before?.isSettled === true && before.inode === inode && before.changedMs === changedMs) {
      before.seen = update
      return before
    }
    const isSettled = showsNextChange(changedMs)
    const since = before?.inode === inode ? before.since : update
    return { inode, changedMs, isSettled, ...namesIn(path), since, seen: update }
  } catch {
    // It disappeared, or cannot be read.
    return undefined
  }
}

const NONE: readonly string[] = []

function namesIn(path: string): Pick<KnownDirectory, "subdirectories" | "executed"> {
  const entries = readdirSync(path, { withFileTypes: true })
  const executed = entries.flatMap(({ name }) => (isExecutedName(name) ? [name] : []))
  if (isBareRepository(entries)) executed.push("HEAD")
  const subdirectories = entries.flatMap((entry) =>
    entry.isDirectory() && entry.name !== ".git" && !isOutputDirectory(entry.name) ? [entry.name] : [],
  )
  return {
    executed: executed.length === 0 ? NONE : executed,
    subdirectories: subdirectories.length === 0 ? NONE : subdirectories,
  }
}

const EXECUTED_NAMES: ReadonlySet<string> = new Set([
  ".git",
  ...[...EXECUTED_IN_WORKSPACE, ...AGENT_INSTRUCTIONS].map((name) => name.split("/", 1)[0] ?? name),
])

const EXECUTED_ENDINGS: readonly string[] = EXECUTED_IN_WORKSPACE.flatMap((name) =>
  name.startsWith("*") ? [name.slice(1)] : [],
)

function isExecutedName(name: string): boolean {
  return EXECUTED_NAMES.has(name) || EXECUTED_ENDINGS.some((ending) => name.endsWith(ending))
}

function isBareRepository(entries: readonly Dirent[]): boolean {
  if (!entries.some(({ name }) => name === "HEAD")) return false
  const names = new Set(entries.map(({ name }) => name))
  // With `commondir`, the rest of a git directory is elsewhere.
  return (names.has("config") && names.has("objects")) || names.has("commondir")
}

const SLICE_MS = 2
const DIRECTORIES_BEFORE_CLOCK = 16

/** Lets other work run after a short time, so that neither the interface nor a stream stops. */
function createPause(): () => Promise<void> | undefined {
  let since = performance.now()
  let count = 0
  return () => {
    count += 1
    if (count % DIRECTORIES_BEFORE_CLOCK !== 0 || performance.now() - since < SLICE_MS) return undefined
    return nextTick().then(() => {
      since = performance.now()
    })
  }
}
