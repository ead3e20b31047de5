import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs"

import type { ContextFileSystem } from "./read-context-file.ts"

/**
 * The files of this machine, looked at without asking a thread for each: at the start of a session nothing else runs, and a dozen
 * looks cost less than one hand-over.
 */
export const NEARBY_FILES: ContextFileSystem = {
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
