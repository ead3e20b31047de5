import { isAlias, isCollection, isMap, isNode, isScalar, isSeq, Pair, YAMLMap, type Document, type YAMLSeq } from "yaml"
import { fail, ok, type Result } from "../../base/result.ts"
import { splitPath, type Path } from "./document-tree.ts"
import { yamlNode } from "./yaml-document.ts"

/** Sets one path in the user's document; comments, order and all other keys stay. */
export function setInDocument(document: Document, path: Path, value: unknown): Result<undefined> {
  const segments = splitPath(path)
  const parent = container(document, segments.slice(0, -1))
  if (!parent.ok) return parent
  return replaceMember(parent.value, segments.at(-1) ?? "", () => yamlNode(document, value))
}

/** Removes one path; false when it did not exist. */
export function removeFromDocument(document: Document, path: Path): boolean {
  const segments = splitPath(path)
  const last = segments.at(-1) ?? ""
  let current: unknown = document.contents
  for (const segment of segments.slice(0, -1)) current = memberOf(resolved(document, current), segment)
  if (isSeq(current)) return /^\d+$/.test(last) && current.delete(Number(last))
  if (!isMap(current)) return false
  const before = current.items.length
  current.items = current.items.filter((pair) => keyOf(pair) !== last)
  return current.items.length < before
}

/** The collection at a path. Missing mappings along it are created, and a scalar is replaced by a mapping. */
function container(document: Document, segments: readonly string[]): Result<YAMLMap | YAMLSeq> {
  let current: YAMLMap | YAMLSeq = rootMap(document)
  for (const segment of segments) {
    const member = resolved(document, memberOf(current, segment))
    const next: YAMLMap | YAMLSeq = isMap(member) || isSeq(member) ? member : new YAMLMap(document.schema)
    const placed = replaceMember(current, segment, () => next)
    if (!placed.ok) return placed
    current = next
  }
  return ok(current)
}

function rootMap(document: Document): YAMLMap {
  if (isMap(document.contents)) return document.contents
  const root = new YAMLMap(document.schema)
  document.contents = root
  return root
}

/** Editing through an alias would also change its anchor, so the alias is replaced by a copy. */
function resolved(document: Document, node: unknown): unknown {
  return isAlias(node) ? document.createNode(node.resolve(document)?.toJS(document) ?? null) : node
}

function memberOf(parent: unknown, segment: string): unknown {
  if (isSeq(parent)) return /^\d+$/.test(segment) ? parent.items[Number(segment)] : undefined
  if (!isMap(parent)) return undefined
  return parent.items.findLast((pair) => keyOf(pair) === segment)?.value
}

function replaceMember(parent: YAMLMap | YAMLSeq, segment: string, create: () => unknown): Result<undefined> {
  const previous = memberOf(parent, segment)
  if (isSeq(parent)) {
    if (!/^\d+$/.test(segment)) return fail(`"${segment}" is not a list index; use 0 for the first item`)
    if (Number(segment) >= parent.items.length) {
      return fail(
        `the list has ${parent.items.length} items, so there is no index ${segment}; set the whole list instead`,
      )
    }
    parent.items[Number(segment)] = withCommentsOf(previous, create())
    return ok(undefined)
  }
  const value = withCommentsOf(previous, create())
  const pair = parent.items.findLast((candidate) => keyOf(candidate) === segment)
  if (pair === undefined) {
    parent.items.push(new Pair<unknown>(segment, value))
    return ok(undefined)
  }
  pair.value = value
  // Of duplicate keys only the last is used; the others would take effect again if it were removed.
  parent.items = parent.items.filter((candidate) => candidate === pair || keyOf(candidate) !== segment)
  return ok(undefined)
}

function keyOf(pair: Pair): string {
  return isScalar(pair.key) ? String(pair.key.value) : String(pair.key)
}

/** A comment after the old value belongs to the line, not to the value. */
function withCommentsOf(previous: unknown, next: unknown): unknown {
  if (previous === next || !isNode(previous) || !isNode(next) || isCollection(previous)) return next
  if (isCollection(next)) next.commentBefore = previous.comment ?? previous.commentBefore ?? null
  else {
    next.comment = previous.comment ?? null
    next.commentBefore = previous.commentBefore ?? null
  }
  return next
}
