import { assertNever } from "../../../base/assert-never.ts"
import { boundary, lineEnd, lineStart } from "../../../terminal/editor/draft.ts"
import type { Draft } from "../../../terminal/editor/draft.ts"
import { nextGrapheme, previousGrapheme } from "../../../terminal/text-width.ts"
import type { Find, Motion } from "./commands.ts"
import { nextWordEnd, nextWordStart, previousWordStart } from "./words.ts"

/** Where a motion leads, and what an operator takes of it: up to the target, including it, or whole lines. */
export interface Target {
  readonly cursor: number
  readonly extent: "exclusive" | "inclusive" | "lines"
}

/** Undefined when the motion is not possible. */
export function findTarget(
  draft: Draft,
  {
    motion,
    count,
    lastFind,
  }: { readonly motion: Motion; readonly count: number | undefined; readonly lastFind: Find | undefined },
): Target | undefined {
  const { text, cursor } = draft
  const repeat = (step: (index: number) => number): number => {
    let index = cursor
    for (let done = 0; done < (count ?? 1); done += 1) {
      const next = step(index)
      if (next === index) break
      index = next
    }
    return index
  }
  switch (motion.key) {
    case "h": {
      const start = lineStart(draft)
      return exclusive(repeat((index) => (index > start ? previousGrapheme(text, index) : index)))
    }
    case "l": {
      const end = lineEnd(draft)
      return exclusive(repeat((index) => (index < end ? nextGrapheme(text, index) : index)))
    }
    case "j":
    case "k":
      return toLine(draft, motion.key === "j" ? (count ?? 1) : -(count ?? 1))
    case "w":
    case "W":
      return exclusive(repeat((index) => nextWordStart(text, index, motion.key === "W")))
    case "b":
    case "B":
      return exclusive(repeat((index) => previousWordStart(text, index, motion.key === "B")))
    case "e":
    case "E":
      return { cursor: repeat((index) => nextWordEnd(text, index, motion.key === "E")), extent: "inclusive" }
    case "0":
      return exclusive(lineStart(draft))
    case "^":
      return exclusive(firstNonBlank(draft))
    case "$":
      return exclusive(lineEnd(draft))
    case "gg":
      return { cursor: lineNumbered(text, count ?? 1), extent: "lines" }
    case "G":
      return { cursor: count === undefined ? text.lastIndexOf("\n") + 1 : lineNumbered(text, count), extent: "lines" }
    case ";":
    case ",":
      return lastFind === undefined ? undefined : findCharacter(draft, repeated(lastFind, motion.key), count ?? 1)
    case "f":
    case "t":
    case "F":
    case "T":
      return findCharacter(draft, motion, count ?? 1)
    default:
      return assertNever(motion)
  }
}

export function firstNonBlank(draft: Draft): number {
  const start = lineStart(draft)
  const end = lineEnd(draft)
  return start + (/\S/u.exec(draft.text.slice(start, end))?.index ?? end - start)
}

function exclusive(cursor: number): Target {
  return { cursor, extent: "exclusive" }
}

/** The same distance from the start of a line above or below. */
function toLine(draft: Draft, lines: number): Target | undefined {
  const { text } = draft
  const column = draft.cursor - lineStart(draft)
  let start = lineStart(draft)
  for (let moved = 0; moved !== lines; moved += Math.sign(lines)) {
    if (lines < 0 ? start === 0 : text.indexOf("\n", start) === -1) return undefined
    start = lines < 0 ? lineStart({ text, cursor: start - 1 }) : text.indexOf("\n", start) + 1
  }
  const end = lineEnd({ text, cursor: start })
  return { cursor: boundary(text, Math.min(start + column, end)), extent: "lines" }
}

function lineNumbered(text: string, number: number): number {
  let start = 0
  for (let line = 1; line < number; line += 1) {
    const end = text.indexOf("\n", start)
    if (end === -1) return start
    start = end + 1
  }
  return start
}

function repeated({ key, character, isRepeated }: Find, how: ";" | ","): Find {
  const opposite = { f: "F", F: "f", t: "T", T: "t" } as const
  return { key: how === ";" ? key : opposite[key], character, isRepeated: isRepeated ?? true }
}

/** The next such character in the line, or the one before it for `t`. A repeated `t` does not stop where it is. */
function findCharacter(draft: Draft, find: Find, count: number): Target | undefined {
  const { text, cursor } = draft
  const forward = find.key === "f" || find.key === "t"
  const isTill = find.key === "t" || find.key === "T"
  const line = { from: lineStart(draft), to: lineEnd(draft) }
  let index = cursor
  if (isTill && find.isRepeated === true) index = forward ? nextGrapheme(text, index) : previousGrapheme(text, index)
  for (let found = 0; found < count;) {
    const next = forward ? nextGrapheme(text, index) : previousGrapheme(text, index)
    if (next === index || next < line.from || next >= line.to || (!forward && index <= line.from)) return undefined
    index = next
    if (text.slice(index, nextGrapheme(text, index)) === find.character) found += 1
  }
  if (!forward) return exclusive(isTill ? nextGrapheme(text, index) : index)
  return { cursor: isTill ? previousGrapheme(text, index) : index, extent: "inclusive" }
}
