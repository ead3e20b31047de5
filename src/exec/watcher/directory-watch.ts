import { readdirSync, watch } from "node:fs"
import type { FSWatcher } from "node:fs"
import { join } from "node:path"
import { setImmediate as nextTick } from "node:timers/promises"

import { errorCode } from "../../base/system-error.ts"
import { isExcluded } from "../checkpoints/excluded-names.ts"

/** Watches the files below a directory. */
export interface DirectoryWatch {
  /** Resolves when all existing directories are watched, or when watching has failed. */
  readonly ready: Promise<WatchState>
  state(): WatchState
  close(): void
}

export type WatchState = "starting" | "watching" | "too-many" | "unsupported" | "closed"

export interface DirectoryWatchOptions {
  readonly maxDirectories: number
  /** Called with a path that was created, changed, renamed or removed. */
  readonly onChange: (path: string) => void
}

/**
 * Watches each directory except those with ignored names. Unlike Node's recursive watch, this does not spend watches on files,
 * installed packages and build output. The watches do not keep the process alive.
 */
export function watchDirectories(root: string, options: DirectoryWatchOptions): DirectoryWatch {
  const watches = new Map<string, FSWatcher>()
  let state: WatchState = "starting"
  const stop = (final: WatchState): void => {
    state = final
    for (const watcher of watches.values()) watcher.close()
    watches.clear()
  }
  const hasStopped = (): boolean => state !== "starting" && state !== "watching"
  const unwatch = (path: string): void => {
    watches.get(path)?.close()
    watches.delete(path)
  }
  const add = (path: string): boolean => {
    if (watches.has(path)) return true
    if (watches.size >= options.maxDirectories) {
      stop("too-many")
      return false
    }
    try {
      const watcher = watch(path, { persistent: false }, (event, name) => {
        if (name === null || hasStopped()) return
        const changed = join(path, name)
        if (event === "rename" && !isIgnoredName(name, "directory")) watchNewDirectory(changed)
        options.onChange(changed)
      })
      watcher.on("error", () => {
        unwatch(path)
      })
      watches.set(path, watcher)
      return true
    } catch (error) {
      // The system has no watches left or does not support them. Other errors concern only this directory.
      if (["ENOSPC", "EMFILE", "ENOSYS", "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM"].includes(errorCode(error) ?? ""))
        stop("unsupported")
      return false
    }
  }
  /** Watches a new directory and reports the files that it already contains. */
  const watchNewDirectory = (path: string): void => {
    unwatch(path)
    const pending = [path]
    for (let next = pending.pop(); next !== undefined && !hasStopped(); next = pending.pop()) {
      const entries = entriesOf(next)
      if (entries === undefined || !add(next)) continue
      for (const { name, isDirectory } of entries) {
        if (isDirectory) pending.push(join(next, name))
        else if (next !== path || state === "watching") options.onChange(join(next, name))
      }
    }
  }
  const start = async (): Promise<WatchState> => {
    const pending = [root]
    for (let next = pending.pop(), count = 1; next !== undefined && !hasStopped(); next = pending.pop(), count += 1) {
      if (add(next)) {
        for (const { name, isDirectory } of entriesOf(next) ?? []) if (isDirectory) pending.push(join(next, name))
      }
      if (count % DIRECTORIES_PER_TICK === 0) await nextTick()
    }
    if (state === "starting") state = "watching"
    return state
  }
  return {
    ready: start(),
    state: () => state,
    close: () => {
      if (!hasStopped()) stop("closed")
    },
  }
}

const DIRECTORIES_PER_TICK = 50

/** Returns undefined for anything but a readable directory. Leaves out ignored names and does not follow links. */
function entriesOf(path: string): readonly { readonly name: string; readonly isDirectory: boolean }[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true })
      .map((entry) => ({ name: entry.name, isDirectory: entry.isDirectory() }))
      .filter(({ name, isDirectory }) => !isIgnoredName(name, isDirectory ? "directory" : "other"))
  } catch {
    return undefined
  }
}

/** Whether checkpoints exclude the name, or it is a temporary file of an editor or of Hermes. */
export function isIgnoredName(name: string, kind: "directory" | "other"): boolean {
  return isExcluded(name, kind) || name === ".hermes" || EDITOR_FILE.test(name)
}

const EDITOR_FILE = /~$|^\.#|\.sw[a-z]$|^4913$|^\.hermes-(?:tmp|restore)[.-]|\.tmp$/u
