import type { TextRegion } from "../../text/text-edit.ts"
import { findText, isTooLargeForTolerance } from "../fuzzy/find-text.ts"
import type { FoundText } from "../fuzzy/find-text.ts"
import type { StrategyName } from "../fuzzy/strategies.ts"
import { linesRegion, textLines } from "../fuzzy/text-lines.ts"

/** Definitions of equal lines, from the strictest to the loosest. The first with a match decides. */
const EQUALITIES: readonly { readonly strategy: StrategyName; readonly form: (line: string) => string }[] = [
  { strategy: "exact", form: (line) => line },
  { strategy: "line_trimmed", form: (line) => line.trimEnd() },
  { strategy: "line_trimmed", form: (line) => line.trim() },
  { strategy: "unicode_normalized", form: plainPunctuation },
]

/** Finds whole lines in a file: `x = 1` is not in `x = 10`. Falls back to the fuzzy search of single texts. */
export function findLines(text: string, wanted: readonly string[]): FoundText | undefined {
  // Splitting a large file into lines takes many times its memory. The search for single texts limits that itself.
  for (const { strategy, form } of isTooLargeForTolerance(text) ? [] : EQUALITIES) {
    const regions = equalWindows(text, wanted, form)
    if (regions.length > 0) return { strategy, regions }
  }
  const found = findText(text, wanted.join("\n"), { strategies: "all" })
  const regions = found?.regions.flatMap((region) => wholeLines(text, region) ?? []) ?? []
  return found === undefined || regions.length === 0 ? undefined : { strategy: found.strategy, regions }
}

/** Typographic quotes, dashes and spaces as the ASCII characters that models write for them. */
export function plainPunctuation(line: string): string {
  return line
    .trim()
    .replaceAll(/[\u{2010}-\u{2015}\u{2212}]/gu, "-")
    .replaceAll(/[\u{2018}-\u{201B}]/gu, "'")
    .replaceAll(/[\u{201C}-\u{201F}]/gu, '"')
    .replaceAll(/[\u{00A0}\u{2002}-\u{200A}\u{202F}\u{205F}\u{3000}]/gu, " ")
}

/** Windows of lines that are equal in a form, without overlaps. */
function equalWindows(text: string, wanted: readonly string[], form: (line: string) => string): readonly TextRegion[] {
  const file = textLines(text)
  const forms = wanted.map(form)
  const present = file.lines.map(form)
  const regions: TextRegion[] = []
  for (let first = 0; first + forms.length <= present.length; first += 1) {
    if (!forms.every((line, index) => present[first + index] === line)) continue
    regions.push(linesRegion(file, { first, count: forms.length, withLineEnd: false }))
    first += forms.length - 1
  }
  return regions
}

/** The lines of a region that leaves out only white space of them; undefined when it is a part of a line. */
function wholeLines(text: string, { start, end }: TextRegion): TextRegion | undefined {
  const lineStart = start === 0 ? 0 : text.lastIndexOf("\n", start - 1) + 1
  const next = text.indexOf("\n", end)
  const lineEnd = next === -1 ? text.length : next
  const isWhole = text.slice(lineStart, start).trim() === "" && text.slice(end, lineEnd).trim() === ""
  return isWhole ? { start: lineStart, end: lineEnd } : undefined
}
