import { realpathSync } from "node:fs"
import { dirname, join } from "node:path"

/** Resolves symbolic links, even when the last segments of the path do not exist yet. Never throws. */
export function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realPath(parent), path.slice(parent.length + (parent.endsWith("/") ? 0 : 1)))
  }
}
