import { lineEnd, lineStart } from "../../../terminal/editor/draft.ts"
import type { Draft } from "../../../terminal/editor/draft.ts"
import { nextGrapheme, previousGrapheme } from "../../../terminal/text-width.ts"
import type { TextObject } from "./commands.ts"
import { classAt } from "./words.ts"

export interface Range {
  readonly from: number
  readonly to: number
}

/** The part of the text that a text object means at the cursor; undefined when there is none. */
export function findTextObject(draft: Draft, { around, key }: TextObject): Range | undefined {
  if (key === "w" || key === "W") return wordAt(draft, { around, big: key === "W" })
  const brackets = BRACKETS[key]
  const inner = brackets === undefined ? quoted(draft, key) : enclosed(draft, brackets)
  if (inner === undefined || !around) return inner
  return { from: inner.from - 1, to: inner.to + 1 }
}

const BRACKETS: Readonly<Record<string, readonly [open: string, close: string]>> = {
  "(": ["(", ")"],
  ")": ["(", ")"],
  b: ["(", ")"],
  "[": ["[", "]"],
  "]": ["[", "]"],
  "{": ["{", "}"],
  "}": ["{", "}"],
  B: ["{", "}"],
  "<": ["<", ">"],
  ">": ["<", ">"],
}

function wordAt(draft: Draft, { around, big }: { readonly around: boolean; readonly big: boolean }): Range | undefined {
  const { text, cursor } = draft
  const line = { from: lineStart(draft), to: lineEnd(draft) }
  if (line.from === line.to) return undefined
  const at = Math.min(cursor, previousGrapheme(text, line.to))
  const word = classAt(text, at, big)
  const forward = (start: number, wanted: string): number => {
    let index = start
    while (index < line.to && classAt(text, index, big) === wanted) index = nextGrapheme(text, index)
    return index
  }
  const back = (start: number, wanted: string): number => {
    let index = start
    while (index > line.from && classAt(text, previousGrapheme(text, index), big) === wanted)
      index = previousGrapheme(text, index)
    return index
  }
  const from = back(at, word)
  const to = forward(at, word)
  if (!around) return { from, to }
  if (word === "blank") return { from, to: forward(to, classAt(text, to, big)) }
  const behind = forward(to, "blank")
  return behind > to ? { from, to: behind } : { from: back(from, "blank"), to }
}

/** Between two quotes in the line: those around the cursor, or else the next pair. */
function quoted(draft: Draft, quote: string): Range | undefined {
  const { text, cursor } = draft
  const end = lineEnd(draft)
  const marks: number[] = []
  for (let index = lineStart(draft); index < end; index += 1) {
    if (text[index] === "\\") index += 1
    else if (text[index] === quote) marks.push(index)
  }
  for (let pair = 0; pair + 1 < marks.length; pair += 2) {
    const [open = 0, close = 0] = marks.slice(pair, pair + 2)
    if (close >= cursor) return { from: open + 1, to: close }
  }
  return undefined
}

function enclosed({ text, cursor }: Draft, [open, close]: readonly [string, string]): Range | undefined {
  let depth = 0
  let from = text[cursor] === open ? cursor : cursor - 1
  for (; from >= 0; from -= 1) {
    if (text[from] === close && from !== cursor) depth += 1
    else if (text[from] === open) {
      if (depth === 0) break
      depth -= 1
    }
  }
  if (from < 0) return undefined
  depth = 0
  for (let to = from + 1; to < text.length; to += 1) {
    if (text[to] === open) depth += 1
    else if (text[to] === close) {
      if (depth === 0) return { from: from + 1, to }
      depth -= 1
    }
  }
  return undefined
}
