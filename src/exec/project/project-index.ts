import { isUtf8 } from "node:buffer"
import { lstatSync, readdirSync, realpathSync } from "node:fs"
import type { Dirent } from "node:fs"
import { setImmediate as nextTick } from "node:timers/promises"

import { AGENT_INSTRUCTIONS, EXECUTED_IN_WORKSPACE } from "../../config/protected-paths.ts"
import { isOutputDirectory } from "../checkpoints/excluded-names.ts"
import { isClosedSince, openDirectory } from "./closed-directories.ts"
import { isRenamedAside } from "./contained-changes.ts"
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
   * files. The ones that the update before found come first, then those near the root. With them are links to directories of the project that
   * are left out.
   */
  readonly found: ReadonlyMap<string, readonly string[]>
  /** Names that are not valid UTF-8, of directories, links and files that programs execute, by the directory that contains them. */
  readonly undecodable: ReadonlyMap<string, readonly Buffer[]>
  /** Those of which no more than the limit are followed. */
  readonly links: readonly string[]
  /** False when there are more directories or links than the limits, or a path is too long. */
  readonly isComplete: boolean
  /** Whether the directory existed. */
  has(directory: string): boolean
}

export interface IndexLimits {
  readonly directories: number
  readonly depth: number
  /** How many links to directories are followed. */
  readonly links: number
}

/** So many take about 8 MB, and an update of them 50 milliseconds. */
const MAX_DIRECTORIES = 20_000
const MAX_LINKS = 5000

export function createProjectIndex(
  root: string,
  limits: IndexLimits = {
    directories: MAX_DIRECTORIES,
    depth: Number.POSITIVE_INFINITY,
    links: MAX_LINKS,
  },
  /** Directories that were closed to their owner since then are opened. */
  openSinceMs = Number.POSITIVE_INFINITY,
): ProjectIndex {
  const known = new Map<string, KnownDirectory>()
  let generation = 0
  const update = async (signal: AbortSignal | undefined): Promise<ProjectSearch> => {
    const current = ++generation
    const found = new Map<string, readonly string[]>()
    const undecodable = new Map<string, readonly Buffer[]>()
    const links: string[] = []
    const pause = createPause()
    const ended = (isComplete: boolean): ProjectSearch => ({
      found,
      undecodable,
      links,
      isComplete,
      has: existedIn(current),
    })
    let reached = 0
    let isComplete = true
    /** The directories of each depth. */
    let levels = [[root]]
    // What a command creates must not take the limit of the directories that were there before.
    for (const turn of ["known", "new"] as const) {
      const later: string[][] = []
      for (const [depth, level] of levels.entries()) {
        if (depth > limits.depth) isComplete = false
        for (const directory of depth > limits.depth ? [] : level) {
          if (turn === "known" && !known.has(directory)) {
            addAt(later, depth, directory)
            continue
          }
          const waiting = pause()
          if (waiting !== undefined) await waiting
          if (signal?.aborted === true) return ended(false)
          if (reached >= limits.directories) {
            isComplete = false
            break
          }
          if (isTooLong(directory)) {
            isComplete = false
            continue
          }
          const entry = look(directory, { before: known.get(directory), update: current, openSinceMs })
          if (entry === undefined) continue
          known.set(directory, entry)
          reached += 1
          if (entry.executed.length > 0) found.set(directory, entry.executed)
          if (entry.undecodable.length > 0) undecodable.set(directory, entry.undecodable)
          const prefix = directory.endsWith("/") ? directory : `${directory}/`
          for (const name of entry.subdirectories) addAt(levels, depth + 1, `${prefix}${name}`)
          for (const name of entry.links) links.push(`${prefix}${name}`)
        }
      }
      levels = later
    }
    if (reached < known.size) for (const [path, { seen }] of known) if (seen < current) known.delete(path)
    for (const link of links.slice(0, limits.links)) {
      const waiting = pause()
      if (waiting !== undefined) await waiting
      const executed = executedBehind(link, root)
      if (executed.length > 0) found.set(link, executed)
    }
    return ended(isComplete && (limits.links === 0 || links.length <= limits.links))
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

/** An array of arrays that grows while it is read. Some depths may have none. */
function addAt(levels: string[][], depth: number, directory: string): void {
  while (levels.length <= depth) levels.push([])
  levels[depth]?.push(directory)
}

/** The kernel accepts no longer path. A process that changes its directory step by step reaches such a one. */
function isTooLong(path: string): boolean {
  return path.length > MAX_PATH_BYTES / 4 && Buffer.byteLength(path) > MAX_PATH_BYTES
}

const MAX_PATH_BYTES = 3800

/** The names in a directory behind a link that the search leaves out. */
function executedBehind(link: string, root: string): readonly string[] {
  try {
    const real = realpathSync.native(link)
    if (!real.startsWith(`${root}/`)) return NONE
    const isLeftOut = real
      .slice(root.length + 1)
      .split("/")
      .some((name) => name === ".git" || isOutputDirectory(name))
    return isLeftOut ? executedIn(real) : NONE
  } catch {
    // It leads nowhere.
    return NONE
  }
}

/** The names of files in a directory that programs execute or obey. Empty when it cannot be read. */
export function executedIn(directory: string): readonly string[] {
  try {
    return lstatSync(directory).isDirectory() ? namesIn(directory).executed : NONE
  } catch {
    // It is gone, or cannot be read.
    return NONE
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
  readonly links: readonly string[]
  readonly undecodable: readonly Buffer[]
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

function namesIn(path: string): Pick<KnownDirectory, "subdirectories" | "executed" | "links" | "undecodable"> {
  const entries = readdirSync(path, { withFileTypes: true })
  const executed = entries.flatMap(({ name }) => (isExecutedName(name) ? [name] : []))
  if (isBareRepository(entries)) executed.push("HEAD")
  const subdirectories = entries.flatMap((entry) =>
    entry.isDirectory() && entry.name !== ".git" && !isOutputDirectory(entry.name) ? [entry.name] : [],
  )
  const links = entries.flatMap((entry) => (entry.isSymbolicLink() && !isRenamedAside(entry.name) ? [entry.name] : []))
  return {
    executed: executed.length === 0 ? NONE : executed,
    subdirectories: subdirectories.length === 0 ? NONE : subdirectories,
    links: links.length === 0 ? NONE : links,
    undecodable: entries.some(({ name }) => name.includes(REPLACEMENT)) ? undecodableIn(path) : [],
  }
}

const REPLACEMENT = "\uFFFD"

function undecodableIn(path: string): readonly Buffer[] {
  return readdirSync(path, { withFileTypes: true, encoding: "buffer" }).flatMap((entry) =>
    !isUtf8(entry.name) &&
    (entry.isDirectory() || entry.isSymbolicLink() || isExecutedName(entry.name.toString("utf8")))
      ? [entry.name]
      : [],
  )
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
  return names.has("objects") || names.has("commondir")
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
