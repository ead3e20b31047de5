import { foldedPath } from "./folded-path.ts"

/** Files and directories below a home, with everything in them. */
export interface PathList {
  /** The path is relative to the home and folded. */
  has(path: string): boolean
}

/** `*` in a name stands for a part of one component. Looks up by the first name, because a search asks for tens of thousands of paths. */
export function createPathList(names: readonly string[]): PathList {
  const byFirst = Map.groupBy(names.map(foldedPath), firstName)
  const matchers = new Map(Array.from(byFirst, ([first, list]) => [first, list.map(matcher)]))
  return { has: (path) => matchers.get(firstName(path))?.some((matches) => matches(path)) === true }
}

function matcher(name: string): (path: string) => boolean {
  if (!name.includes("*")) return (path) => path === name || path.startsWith(`${name}/`)
  const source = name.replaceAll(/[.+^${}()|[\]\\]/gu, String.raw`\$&`).replaceAll("*", "[^/]*")
  const pattern = new RegExp(`^${source}(?:/|$)`, "u")
  return (path) => pattern.test(path)
}

function firstName(path: string): string {
  const slash = path.indexOf("/")
  return slash === -1 ? path : path.slice(0, slash)
}
