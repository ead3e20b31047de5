import { fail, ok, type Result } from "../../../../base/result.ts"
import type { TextRegion } from "../../text/text-edit.ts"
import { linesRegion, textLines } from "../fuzzy/text-lines.ts"
import type { TextLines } from "../fuzzy/text-lines.ts"
import { plainPunctuation } from "./find-lines.ts"

/** The line that hints name, and the lines that belong to it. */
export interface HintScope {
  readonly line: TextRegion
  /** The line and the lines below it that are indented further. */
  readonly block: TextRegion
}

/** Finds the only line that the hints name. Each hint is searched in the block of the one before; hints that are not there are skipped. */
export function findHint(text: string, hints: readonly string[], after: number): Result<HintScope> {
  const file = textLines(text)
  let found: readonly number[] = []
  let named = hints.at(-1) ?? ""
  for (const hint of hints) {
    const lines = matchingLines(file, hint)
    const inside = lines.filter((line) => found.some((outer) => line > outer && line <= lastOfBlock(file, outer)))
    if (lines.length === 0) continue
    named = hint
    found = inside.length > 0 ? inside : lines
  }
  const [first] = found
  if (first === undefined) return fail(`the hint "${named}" is not in the file`)
  // Hunks are in file order, so of several lines the one below the previous hunk is the named one.
  const below = after === 0 ? [] : found.filter((line) => (file.starts[line] ?? 0) >= after)
  const [only = first] = below
  return found.length === 1 || below.length === 1
    ? ok(scopeOf(file, only))
    : fail(`the hint "${named}" is ambiguous: it is on ${found.length} lines`)
}

/** A line that equals the hint takes precedence over lines that contain it. */
function matchingLines({ lines }: TextLines, hint: string): readonly number[] {
  const plain = plainPunctuation(hint)
  const fits = [
    (line: string) => line.trim() === hint,
    (line: string) => line.includes(hint),
    (line: string) => plainPunctuation(line).includes(plain),
  ]
  for (const fit of fits) {
    const found = lines.flatMap((line, index) => (fit(line) ? [index] : []))
    if (found.length > 0) return found
  }
  return []
}

function scopeOf(file: TextLines, line: number): HintScope {
  const count = lastOfBlock(file, line) - line + 1
  return {
    line: linesRegion(file, { first: line, count: 1, withLineEnd: false }),
    block: linesRegion(file, { first: line, count, withLineEnd: false }),
  }
}

function lastOfBlock({ lines }: TextLines, first: number): number {
  const indent = indentOf(lines[first] ?? "")
  let last = first
  for (const [index, line] of lines.entries()) {
    if (index <= first || line.trim() === "") continue
    const opensBrace = index === first + 1 && line.trim() === "{"
    if (!opensBrace && indentOf(line) <= indent) break
    last = index
  }
  return last
}

function indentOf(line: string): number {
  return /^[ \t]*/.exec(line)?.[0].length ?? 0
}
