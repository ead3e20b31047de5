import { foldedPath } from "./folded-path.ts"

/** Files and directories below a home, with everything in them. */
export interface PathList {
  /** The path is relative to the home and folded. */
  has(path: string): boolean
}

/** Looks up by the first name, because a search asks for tens of thousands of paths. */
export function createPathList(names: readonly string[]): PathList {
  const byFirst = Map.groupBy(names.map(foldedPath), firstName)
  return {
    has: (path) => byFirst.get(firstName(path))?.some((name) => path === name || path.startsWith(`${name}/`)) === true,
  }
}

function firstName(path: string): string {
  const slash = path.indexOf("/")
  return slash === -1 ? path : path.slice(0, slash)
}
