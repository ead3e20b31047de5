import { isDeepStrictEqual } from "node:util"
import { isCollection, isMap, isNode, isScalar, isSeq, Pair, visit, YAMLMap, YAMLSeq } from "yaml"
import type { Document, Node, ToStringOptions } from "yaml"

/** The user's file, its parsed form, and the edited copy of it. */
export interface EditedText {
  readonly text: string
  readonly original: Document
  readonly edited: Document
  /** An empty document with the file's schema. */
  readonly blank: () => Document
  readonly style: ToStringOptions
}

/**
 * Applies the difference between two documents to the text, so that everything else stays byte for byte the same. Rendering the
 * whole document would move comments: the library attaches a comment to a node and indents it like that node. Returns undefined for
 * YAML that cannot be edited in this way, such as a removed key of a flow mapping with comments.
 */
export function spliceChanges(source: EditedText): string | undefined {
  const { original, edited, text } = source
  try {
    const splices = rootChanges(original.contents, edited.contents, source)
    return splices === undefined ? undefined : apply(splices, text)
  } catch (cause) {
    if (cause instanceof NotSplicable) return undefined
    throw cause
  }
}

class NotSplicable extends Error {}

interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

function apply(splices: readonly Splice[], text: string): string {
  const newline = text.includes("\r\n") ? "\r\n" : "\n"
  // From the end, so that offsets stay valid. At the same offset, what is removed comes before what is inserted.
  const ordered = splices.toSorted((one, other) => other.start - one.start || other.end - one.end)
  return ordered.reduce((result, splice) => {
    const inserted = splice.text.replaceAll("\n", newline)
    return `${result.slice(0, splice.start)}${inserted}${result.slice(splice.end)}`
  }, text)
}

function rootChanges(before: unknown, after: unknown, source: EditedText): readonly Splice[] | undefined {
  if (isMap(before) && isMap(after) && before.flow !== true) return mapChanges(before, after, source)
  if (!isScalar(before) && before !== null) return undefined
  if (!isMap(after) || (isScalar(before) && before.value !== null)) return undefined
  // The file is empty or has only comments.
  const { text } = source
  const gap = text === "" || text.endsWith("\n") ? "" : "\n"
  return [{ start: text.length, end: text.length, text: `${gap}${renderItems(after.items, 0, source)}` }]
}

/** Undefined: the whole value has to be replaced. */
function valueChanges(before: unknown, after: unknown, source: EditedText): readonly Splice[] | undefined {
  if (isEqual(before, after, source)) return []
  if (isMap(before) && isMap(after) && after.items.length > 0) {
    return before.flow === true ? flowChanges(before, after, source) : mapChanges(before, after, source)
  }
  if (isSeq(before) && isSeq(after) && before.flow !== true && after.items.length > 0) {
    return sequenceChanges(before, after, source)
  }
  return undefined
}

function isEqual(before: unknown, after: unknown, { original, edited }: EditedText): boolean {
  return isDeepStrictEqual(plain(before, original), plain(after, edited))
}

function plain(node: unknown, document: Document): unknown {
  return isNode(node) ? node.toJS(document) : node
}

function mapChanges(before: YAMLMap, after: YAMLMap, source: EditedText): readonly Splice[] {
  const kept = new Map<Pair, Pair>()
  const added: Pair[] = []
  for (const key of new Set([...before.items, ...after.items].map(keyOf))) {
    const old = before.items.filter((pair) => keyOf(pair) === key)
    const fresh = after.items.filter((pair) => keyOf(pair) === key)
    // Of duplicate keys the last one counts, and an edit removes the others.
    for (const [index, pair] of fresh.toReversed().entries()) {
      const match = old.at(-1 - index)
      if (match === undefined) added.unshift(pair)
      else kept.set(match, pair)
    }
  }
  const [first] = before.items
  const changes = before.items.flatMap((pair) => {
    const match = kept.get(pair)
    return match === undefined
      ? [removedLines(pairStart(pair), pairEnd(pair, source), source)]
      : pairChanges(pair, match, source)
  })
  if (added.length === 0 || first === undefined) return changes
  const at = lineAfter(endOf(before, source), source.text)
  const ordered = after.items.filter((pair) => added.includes(pair))
  const lines = renderItems(ordered, columnOf(pairStart(first), source.text), source)
  return [...changes, insertedLines(at, lines, source.text)]
}

/** A flow mapping or sequence with the same members is changed inside, so that comments in it stay. */
function flowChanges(before: YAMLMap, after: YAMLMap, source: EditedText): readonly Splice[] | undefined {
  if (!isDeepStrictEqual(before.items.map(keyOf), after.items.map(keyOf))) return undefined
  return before.items.flatMap((pair, index) => {
    const next = after.items[index]?.value
    const inside = valueChanges(pair.value, next, source)
    if (inside !== undefined) return inside
    const { start, end } = rangeOf(pair.value)
    return [{ start, end, text: renderFlow(next, source) }]
  })
}

function pairChanges(before: Pair, after: Pair, source: EditedText): readonly Splice[] {
  const inside = valueChanges(before.value, after.value, source)
  if (inside !== undefined) return inside
  const { value } = before
  const colon = colonAfter(before, source.text)
  if (isCollection(value) && value.flow !== true && isCollection(after.value) && after.value.items.length === 0) {
    // Comments between the members stay.
    const empty = isMap(after.value) ? " {}" : " []"
    return [{ start: colon, end: colon, text: empty }, ...memberRemovals(value, source)]
  }
  return replacedValue(before, after.value, source)
}

function memberRemovals(collection: YAMLMap | YAMLSeq, source: EditedText): readonly Splice[] {
  if (isMap(collection)) {
    return collection.items.map((pair) => removedLines(pairStart(pair), pairEnd(pair, source), source))
  }
  return collection.items.map((item) => removedLines(dashOf(item, source.text), endOf(item, source), source))
}

function replacedValue(before: Pair, after: unknown, source: EditedText): readonly Splice[] {
  const { text } = source
  const colon = colonAfter(before, text)
  const column = columnOf(pairStart(before), text)
  const [inline = "", ...block] = indent(renderValue(after, source), column).split("\n")
  const lines = block.join("\n")
  const { value } = before
  const start = isNode(value) && value.range ? value.range[0] : colon
  const isEmpty = !isNode(value) || (isScalar(value) && value.source === "" && start === endOf(value, source))
  const onKeyLine = !text.slice(colon, start).includes("\n")
  if (isEmpty) return [{ start: colon, end: colon, text: inline }, insertedLines(lineAfter(colon, text), lines, text)]
  if (!onKeyLine) {
    return [
      { start: colon, end: colon, text: inline },
      insertedLines(lineAfter(colon, text), lines, text),
      removedLines(start, endOf(value, source), source),
    ]
  }
  const end = endOf(value, source)
  const replaced = inline === "" ? { start: colon, end, text: "" } : { start, end, text: inline.replace(/^ /, "") }
  return [replaced, insertedLines(lineAfter(end, text), lines, text)]
}

function sequenceChanges(before: YAMLSeq, after: YAMLSeq, source: EditedText): readonly Splice[] {
  const same = (old: unknown, next: unknown): boolean => isEqual(old, next, source)
  const [old, next] = [before.items, after.items]
  const shorter = Math.min(old.length, next.length)
  let head = 0
  while (head < shorter && same(old[head], next[head])) head += 1
  let tail = 0
  while (tail < shorter - head && same(old.at(-1 - tail), next.at(-1 - tail))) tail += 1
  const [gone, come] = [old.slice(head, old.length - tail), next.slice(head, next.length - tail)]
  const changes = gone.flatMap((item, index) =>
    index < come.length
      ? itemChanges(item, come[index], source)
      : [removedLines(dashOf(item, source.text), endOf(item, source), source)],
  )
  const added = come.slice(gone.length)
  const [first] = old
  if (added.length === 0 || first === undefined) return changes
  const { text } = source
  const previous = old[head + gone.length - 1]
  const at = previous === undefined ? lineStart(dashOf(first, text), text) : lineAfter(endOf(previous, source), text)
  const list = new YAMLSeq(source.edited.schema)
  list.items = added
  return [...changes, insertedLines(at, indent(render(list, source), columnOf(dashOf(first, text), text)), text)]
}

function itemChanges(before: unknown, after: unknown, source: EditedText): readonly Splice[] {
  const inside = valueChanges(before, after, source)
  if (inside !== undefined) return inside
  const { start, end } = rangeOf(before)
  if (isCollection(before) && before.flow !== true) throw new NotSplicable()
  return [{ start, end, text: renderFlow(after, source) }]
}

function keyOf(pair: Pair): string {
  return isScalar(pair.key) ? String(pair.key.value) : String(pair.key)
}

function pairStart(pair: Pair): number {
  return rangeOf(pair.key).start
}

function pairEnd(pair: Pair, source: EditedText): number {
  const colon = colonAfter(pair, source.text)
  return Math.max(colon, isNode(pair.value) ? endOf(pair.value, source) : colon)
}

/** The offset after the colon of a pair. */
function colonAfter(pair: Pair, text: string): number {
  const { end } = rangeOf(pair.key)
  const gap = /^[ \t]*:/.exec(text.slice(end))?.[0]
  if (gap === undefined) throw new NotSplicable()
  return end + gap.length
}

/** The offset after the last character of a value, without comments and line breaks behind it. */
function endOf(node: unknown, source: EditedText): number {
  if (isCollection(node) && node.flow !== true) {
    const last = node.items.at(-1)
    if (last instanceof Pair) return pairEnd(last, source)
    if (last !== undefined) return endOf(last, source)
  }
  const { start, end } = rangeOf(node)
  const trailing = /\s*$/.exec(source.text.slice(start, end))?.[0].length ?? 0
  return end - trailing
}

function rangeOf(node: unknown): { readonly start: number; readonly end: number } {
  if (!isNode(node) || !node.range) throw new NotSplicable()
  return { start: node.range[0], end: node.range[1] }
}

/** The offset of the dash of a list item. */
function dashOf(item: unknown, text: string): number {
  const { start } = rangeOf(item)
  const dash = /-[ \t]+$/.exec(text.slice(lineStart(start, text), start))
  if (dash === null) throw new NotSplicable()
  return lineStart(start, text) + dash.index
}

function lineStart(offset: number, text: string): number {
  return text.lastIndexOf("\n", offset - 1) + 1
}

/** The start of the next line. */
function lineAfter(offset: number, text: string): number {
  const end = text.indexOf("\n", offset)
  return end === -1 ? text.length : end + 1
}

function columnOf(offset: number, text: string): number {
  return offset - lineStart(offset, text)
}

function removedLines(start: number, end: number, { text }: EditedText): Splice {
  const from = lineStart(start, text)
  if (text.slice(from, start).trim() !== "") throw new NotSplicable()
  return { start: from, end: lineAfter(end, text), text: "" }
}

function insertedLines(at: number, lines: string, text: string): Splice {
  if (lines === "") return { start: at, end: at, text: "" }
  const isLineStart = at === 0 || text[at - 1] === "\n"
  return { start: at, end: at, text: isLineStart ? lines : `\n${lines.replace(/\n$/, "")}` }
}

function renderItems(items: readonly Pair[], column: number, source: EditedText): string {
  const map = new YAMLMap(source.edited.schema)
  map.items = items.map((pair) => new Pair(pair.key, pair.value))
  return indent(render(map, source), column)
}

/** What follows `key:`, with lines that are indented as below a key in the first column. */
function renderValue(value: unknown, source: EditedText): string {
  const map = new YAMLMap(source.edited.schema)
  map.items = [new Pair("k", value)]
  return render(map, source).replace(/^k:/, "")
}

/** For a value inside brackets or of a list item. */
function renderFlow(value: unknown, source: EditedText): string {
  const list = new YAMLSeq(source.edited.schema)
  list.items = [value]
  list.flow = true
  const rendered = render(list, source).trim()
  return rendered.slice(1, -1).trim()
}

function render(node: Node, { blank, style }: EditedText): string {
  const document = blank()
  const copy = document.createNode(node.clone())
  visit(copy, {
    // The comments of replaced values are still in the text.
    Node: (_key, visited) => {
      visited.comment = null
      visited.commentBefore = null
      if (isScalar(visited) || isCollection(visited)) visited.spaceBefore = false
    },
  })
  document.contents = copy
  return document.toString(style)
}

function indent(rendered: string, column: number): string {
  const [first = "", ...rest] = rendered.split("\n")
  const spaces = " ".repeat(column)
  const isValue = first === "" || first.startsWith(" ")
  const shifted = rest.map((line) => (line === "" ? line : `${spaces}${line}`))
  return [isValue ? first : `${spaces}${first}`, ...shifted].join("\n")
}
