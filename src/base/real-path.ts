import { readlinkSync, realpathSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"

/** Resolves symbolic links, even when the last segments of the path or the target of a link do not exist yet. Never throws. */
export function realPath(path: string): string {
  return resolvedPath(path, 0)
}

function resolvedPath(path: string, links: number): string {
  try {
    // The plain one removes `..` from the text before it looks at links.
    return realpathSync.native(path)
  } catch {
    const parent = dirname(path)
    if (parent === path) return path
    const entry = join(resolvedPath(parent, links), basename(path))
    const target = links < MOST_LINKS ? linkTarget(entry) : undefined
    return target === undefined ? entry : resolvedPath(resolve(dirname(entry), target), links + 1)
  }
}

/** As many as Linux follows. */
const MOST_LINKS = 40

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    // Not a link.
    return undefined
  }
}
