import { readdirSync, watch } from "node:fs"
import type { FSWatcher } from "node:fs"
import { join } from "node:path"
import { setImmediate as nextTick } from "node:timers/promises"

import { errorCode } from "../../base/system-error.ts"
import { isExcluded } from "../checkpoints/excluded-names.ts"

/** Hears of changes below a directory. */
export interface DirectoryWatch {
  /** Resolves when everything that was there at the start is watched, or nothing will be. */
  readonly ready: Promise<WatchState>
  state(): WatchState
  close(): void
}

export type WatchState = "starting" | "watching" | "too-many" | "unsupported" | "closed"

export interface DirectoryWatchOptions {
  readonly maxDirectories: number
  /** A path that was created, changed, renamed or removed. */
  readonly onChange: (path: string) => void
}

/**
 * One watch for each directory that is worth it: unlike the system's recursive watch this spends nothing on files, installed
 * packages and build output. Nothing here keeps a process alive.
 */
export function watchDirectories(root: string, options: DirectoryWatchOptions): DirectoryWatch {
  const watches = new Map<string, FSWatcher>()
  let state: WatchState = "starting"
  const stop = (why: WatchState): void => {
    state = why
    for (const watcher of watches.values()) watcher.close()
    watches.clear()
  }
  const isOver = (): boolean => state !== "starting" && state !== "watching"
  const forget = (path: string): void => {
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
        if (name === null || isOver()) return
        const changed = join(path, name)
        if (event === "rename" && !isIgnoredName(name, "directory")) follow(changed)
        options.onChange(changed)
      })
      watcher.on("error", () => {
        forget(path)
      })
      watches.set(path, watcher)
      return true
    } catch (error) {
      // The system has no watches left, or offers none; a directory that is gone or closed to us is no reason to stop.
      if (["ENOSPC", "EMFILE", "ENOSYS", "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM"].includes(errorCode(error) ?? ""))
        stop("unsupported")
      return false
    }
  }
  /** A new directory is watched, and what it already holds is told. */
  const follow = (path: string): void => {
    forget(path)
    const below = [path]
    for (let next = below.pop(); next !== undefined && !isOver(); next = below.pop()) {
      const entries = entriesOf(next)
      if (entries === undefined || !add(next)) continue
      for (const { name, isDirectory } of entries) {
        if (isDirectory) below.push(join(next, name))
        else if (next !== path || state === "watching") options.onChange(join(next, name))
      }
    }
  }
  const start = async (): Promise<WatchState> => {
    const below = [root]
    for (let next = below.pop(), count = 1; next !== undefined && !isOver(); next = below.pop(), count += 1) {
      if (add(next)) {
        for (const { name, isDirectory } of entriesOf(next) ?? []) if (isDirectory) below.push(join(next, name))
      }
      if (count % DIRECTORIES_AT_ONCE === 0) await nextTick()
    }
    if (state === "starting") state = "watching"
    return state
  }
  return {
    ready: start(),
    state: () => state,
    close: () => {
      if (!isOver()) stop("closed")
    },
  }
}

const DIRECTORIES_AT_ONCE = 50

/** Without what no checkpoint holds either; undefined for what is no directory. Links are not followed. */
function entriesOf(path: string): readonly { readonly name: string; readonly isDirectory: boolean }[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true })
      .map((entry) => ({ name: entry.name, isDirectory: entry.isDirectory() }))
      .filter(({ name, isDirectory }) => !isIgnoredName(name, isDirectory ? "directory" : "other"))
  } catch {
    return undefined
  }
}

/** Also temporary files of editors, and our own. */
export function isIgnoredName(name: string, kind: "directory" | "other"): boolean {
  return isExcluded(name, kind) || name === ".hermes" || EDITOR_FILE.test(name)
}

const EDITOR_FILE = /~$|^\.#|\.sw[a-z]$|^4913$|^\.hermes-(?:tmp|restore)[.-]|\.tmp$/u
