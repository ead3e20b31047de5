import { isRecord } from "../../base/json.ts"

/** A configuration document as plain data. */
export type Tree = Readonly<Record<string, unknown>>

/** Dotted text, or the segments where a name may contain a dot. */
export type Path = string | readonly string[]

export function splitPath(path: Path): readonly string[] {
  return typeof path === "string" ? path.split(".") : path
}

export function dotted(path: Path): string {
  return splitPath(path).join(".")
}

/** The value at a path; digits index lists. Undefined when there is none. */
export function valueAt(tree: unknown, path: Path): unknown {
  let current = tree
  for (const segment of splitPath(path)) {
    if (Array.isArray(current)) {
      current = /^\d+$/.test(segment) ? current[Number(segment)] : undefined
    } else if (isRecord(current) && Object.hasOwn(current, segment)) {
      current = current[segment]
    } else {
      return undefined
    }
  }
  return current
}

export function hasPath(tree: unknown, path: Path): boolean {
  return valueAt(tree, path) !== undefined
}

/** A copy with one value replaced; missing mappings along the path are created. */
export function withValueAt(tree: Tree, path: Path, value: unknown): Record<string, unknown> {
  return replaceIn(tree, splitPath(path), value)
}

function replaceIn(tree: unknown, segments: readonly string[], value: unknown): Record<string, unknown> {
  const [segment = "", ...rest] = segments
  const base = isRecord(tree) ? tree : {}
  return ownCopy(base, [[segment, rest.length === 0 ? value : replaceIn(base[segment], rest, value)]])
}

/** A copy without one value; everything else stays. */
export function withoutPath(tree: Tree, path: Path): Record<string, unknown> {
  const [segment = "", ...rest] = splitPath(path)
  const inner = tree[segment]
  if (rest.length === 0) return Object.fromEntries(Object.entries(tree).filter(([key]) => key !== segment))
  return isRecord(inner) ? ownCopy(tree, [[segment, withoutPath(inner, rest)]]) : ownCopy(tree, [])
}

/** Dotted keys to a nested tree. */
export function treeFrom(values: Iterable<readonly [string, unknown]>): Record<string, unknown> {
  const tree: Record<string, unknown> = {}
  for (const [path, value] of values) {
    const segments = splitPath(path)
    let current = tree
    for (const segment of segments.slice(0, -1)) {
      const inner = current[segment]
      const next = isRecord(inner) ? inner : {}
      current[segment] = next
      current = next
    }
    const last = segments.at(-1) ?? path
    current[last] = isRecord(value) && isRecord(current[last]) ? { ...value, ...current[last] } : copyOf(value)
  }
  return tree
}

/**
 * Merges the user's document into the defaults: mappings merge, everything else, lists included, replaces. Where the user wrote
 * null instead of a mapping, the default mapping stays and `onNull` is called.
 */
export function mergeTrees(
  defaults: Tree,
  user: Tree,
  onNull: (path: string) => void,
  prefix = "",
): Record<string, unknown> {
  const changes = Object.entries(user).map(([key, value]): [string, unknown] => {
    const initial = Object.hasOwn(defaults, key) ? defaults[key] : undefined
    if (!isRecord(initial)) return [key, value]
    if (value === null) {
      onNull(prefix + key)
      return [key, initial]
    }
    return [key, isRecord(value) ? mergeTrees(initial, value, onNull, `${prefix}${key}.`) : value]
  })
  return ownCopy(defaults, changes)
}

/** Replaces `${NAME}` in every string value, never in keys; unknown names stay as they are. */
export function expandVariables(value: unknown, lookup: (name: string) => string | undefined): unknown {
  if (typeof value === "string") {
    return value.includes("${")
      ? value.replace(/\$\{([^${}]+)\}/g, (whole, name: string) => lookup(name) ?? whole)
      : value
  }
  if (Array.isArray(value)) return value.map((item) => expandVariables(item, lookup))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, expandVariables(inner, lookup)]))
}

/** A deep copy of plain data; much faster than `structuredClone`, and this runs at every start. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copyOf(inner)]))
}

/** Object.fromEntries creates own properties for every name, even `__proto__`. */
function ownCopy(base: Tree, changes: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries([...Object.entries(base), ...changes])
}
