import { orAborted } from "../../../base/abort.ts"
import type { FileStamp, FileTracker, ProfileDirectories, ReadRange } from "../../../toolkit/ports/files.ts"

/** Reads and writes of all tasks of one app. */
export interface FileRegistry {
  readonly files: Map<string, KnownFile>
  readonly queues: Map<string, Promise<void>>
  /** Orders reads and writes; a clock has too little resolution for that. */
  step(): number
}

export interface FileTrackerOptions {
  readonly taskId: string
  readonly registry: FileRegistry
  /** False disables the warnings before writes (HERMES_DISABLE_FILE_STATE_GUARD). */
  readonly guard: boolean
  /** Identifies the workspace: equal paths in different workspaces are different files. */
  readonly scope?: string
  readonly workspaceRoot?: string
  readonly directories?: ProfileDirectories
}

interface KnownFile {
  readonly readers: Map<string, ReadStamp>
  writer?: { readonly task: string; readonly step: number }
}

interface ReadStamp extends FileStamp {
  readonly step: number
  readonly partial: boolean
}

const MAX_REGISTERED_FILES = 4096
const MAX_WINDOWS = 1000
const MAX_OWN_FILES = 1000
const MAX_FAILING_FILES = 64

export function createFileRegistry(): FileRegistry {
  let steps = 0
  return { files: new Map(), queues: new Map(), step: () => (steps += 1) }
}

/** Tracks the reads, writes and repeated calls of one task. */
export function createFileTracker(options: FileTrackerOptions): FileTracker {
  const { registry, taskId } = options
  const keyOf = (path: string): string => (options.scope === undefined ? path : `${options.scope}\0${path}`)
  const windows = new Map<string, { stamp: FileStamp; path: string; requests: number }>()
  const ownFiles = new Map<string, true>()
  const failures = new Map<string, number>()
  let last = { signature: "", times: 0 }

  const remember = (path: string, seen: FileStamp & { readonly partial: boolean }): KnownFile => {
    const known = knownFile(registry, keyOf(path))
    const { modifiedMs, size, partial } = seen
    known.readers.set(taskId, { modifiedMs, size, partial, step: registry.step() })
    for (const dropped of keepNewest(ownFiles, path, { value: true, max: MAX_OWN_FILES })) {
      registry.files.get(keyOf(dropped))?.readers.delete(taskId)
    }
    return known
  }
  const forgetWindows = (path: string): void => {
    for (const [key, window] of windows) if (window.path === path) windows.delete(key)
  }
  return {
    ...(options.workspaceRoot === undefined ? {} : { workspaceRoot: options.workspaceRoot }),
    ...(options.directories === undefined ? {} : { directories: options.directories }),
    timesRequestedAgain: (window, stamp) => {
      const before = windows.get(windowKey(window))
      if (before === undefined || !isSame(before.stamp, stamp)) return 0
      before.requests += 1
      return before.requests
    },
    recordRead: (window, seen) => {
      const stamp = { modifiedMs: seen.modifiedMs, size: seen.size }
      keepNewest(windows, windowKey(window), { value: { stamp, path: window.path, requests: 0 }, max: MAX_WINDOWS })
      // Reading a part of a file that was read completely and has not changed does not make it partial.
      const before = registry.files.get(keyOf(window.path))?.readers.get(taskId)
      const wasWhole = before !== undefined && !before.partial && isSame(before, seen)
      remember(window.path, { ...seen, partial: seen.partial && !wasWhole })
    },
    timesInARow: (signature) => {
      last = { signature, times: last.signature === signature ? last.times + 1 : 1 }
      return last.times
    },
    resetRepeatCount: () => {
      last = { signature: "", times: 0 }
      for (const window of windows.values()) window.requests = 0
    },
    staleWarning: (path, now, intent) => {
      if (!options.guard) return undefined
      const known = registry.files.get(keyOf(path))
      const seen = known?.readers.get(taskId)
      const sibling = known?.writer !== undefined && known.writer.task !== taskId ? known.writer : undefined
      if (seen !== undefined && sibling !== undefined && sibling.step > seen.step) {
        return `another task changed ${path} after you had read it; read it again to see whether its change is still there`
      }
      if (seen === undefined && sibling !== undefined) {
        return `another task wrote ${path} and you have not read it; read it to see whether its change is still there`
      }
      if (seen !== undefined && !isSame(seen, now)) {
        return `${path} was changed by another program since you read it; read it again to see whether that change is still there`
      }
      if (intent === "edit") return undefined
      if (seen?.partial === true) return `you had read only a part of ${path} and have replaced all of it`
      return seen === undefined ? `${path} existed and was replaced without having been read` : undefined
    },
    recordWrite: (path, now, intent) => {
      forgetWindows(path)
      if (now === undefined) {
        const known = knownFile(registry, keyOf(path))
        known.readers.delete(taskId)
        known.writer = { task: taskId, step: registry.step() }
        ownFiles.delete(path)
        return
      }
      const before = registry.files.get(keyOf(path))?.readers.get(taskId)
      const known = remember(path, { ...now, partial: intent === "edit" && (before?.partial ?? true) })
      known.writer = { task: taskId, step: registry.step() }
    },
    withLocks: (paths, signal, work) =>
      withLocks([...new Set(paths.map(keyOf))].toSorted(), { registry, signal, work }),
    recordFailedEdit: (path) => {
      const times = (failures.get(path) ?? 0) + 1
      keepNewest(failures, path, { value: times, max: MAX_FAILING_FILES })
      return times
    },
    forgetFailedEdits: (path) => {
      failures.delete(path)
    },
    forget: () => {
      windows.clear()
    },
    forgetFile: forgetWindows,
    changedSince: (path, now) => {
      const seen = registry.files.get(keyOf(path))?.readers.get(taskId)
      if (seen === undefined) return "unknown"
      return now !== undefined && isSame(seen, now) ? "unchanged" : "changed"
    },
  }
}

/** The files that one task changed after another one had read them. */
export function filesChangedAfterRead(
  { files }: FileRegistry,
  { reader, writer }: { readonly reader: string; readonly writer: string },
): readonly string[] {
  return [...files].flatMap(([key, { readers, writer: last }]) => {
    const read = readers.get(reader)
    const isChanged = read !== undefined && last?.task === writer && last.step > read.step
    return isChanged ? [key.slice(key.indexOf("\0") + 1)] : []
  })
}

function windowKey({ path, offset, limit }: ReadRange): string {
  return `${offset}:${limit}:${path}`
}

function isSame(a: FileStamp, b: FileStamp): boolean {
  return a.modifiedMs === b.modifiedMs && a.size === b.size
}

function knownFile(registry: FileRegistry, key: string): KnownFile {
  const known = registry.files.get(key) ?? { readers: new Map() }
  keepNewest(registry.files, key, { value: known, max: MAX_REGISTERED_FILES })
  return known
}

/** Adds an entry at the end and drops the oldest ones beyond `max`; returns the dropped keys. */
function keepNewest<T>(map: Map<string, T>, key: string, entry: { readonly value: T; readonly max: number }): string[] {
  map.delete(key)
  map.set(key, entry.value)
  const dropped = [...map.keys().take(Math.max(0, map.size - entry.max))]
  for (const old of dropped) map.delete(old)
  return dropped
}

interface LockedWork<T> {
  readonly registry: FileRegistry
  readonly signal: AbortSignal
  readonly work: () => Promise<T>
}

/** Keys must be sorted, so that two tasks with the same files cannot deadlock. */
async function withLocks<T>(
  keys: readonly string[],
  { registry, signal, work }: LockedWork<T>,
): Promise<T | undefined> {
  const [key, ...otherKeys] = keys
  if (key === undefined) return await work()
  const { promise: done, resolve: release } = Promise.withResolvers<void>()
  const before = registry.queues.get(key) ?? Promise.resolve()
  const end: Promise<void> = before
    .then(() => done)
    .then(() => {
      if (registry.queues.get(key) === end) registry.queues.delete(key)
    })
  registry.queues.set(key, end)
  try {
    const acquired = await orAborted(
      before.then(() => true),
      signal,
    )
    return acquired === true ? await withLocks(otherKeys, { registry, signal, work }) : undefined
  } finally {
    release()
  }
}
