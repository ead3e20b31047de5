import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs"

import type { ContextFileSystem } from "./read-context-file.ts"

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
  read: (path) => Promise.resolve(readFileSync(path)),
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
