import { readdirSync, realpathSync, statSync } from "node:fs"

import { readRegularFile } from "../base/regular-file.ts"
import type { ContextFileSystem } from "./read-context-file.ts"

/** Readers have smaller limits of their own. */
const MAX_BYTES = 10_000_000

/**
 * The local file system with synchronous calls: at the start of a session nothing else runs, and a dozen synchronous calls take less
 * time than one round trip to the thread pool.
 */
export const LOCAL_FILES: ContextFileSystem = {
  stat: (path) => {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) return Promise.resolve(undefined)
    return Promise.resolve({ kind: kindOf(found), size: found.size })
  },
  read: (path) => Promise.resolve(readRegularFile(path, { maxBytes: MAX_BYTES }).bytes),
  list: (path) =>
    Promise.resolve(
      readdirSync(path, { withFileTypes: true }).map((entry) => ({ name: entry.name, kind: kindOf(entry) })),
    ),
  realPath: (path) => Promise.resolve(realpathSync(path)),
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean }): "file" | "directory" | "other" {
  if (entry.isFile()) return "file"
  return entry.isDirectory() ? "directory" : "other"
}
