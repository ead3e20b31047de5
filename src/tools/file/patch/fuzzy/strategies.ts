import type { TextRegion } from "../../text/text-edit.ts"
import { anchoredBlocks, similarWindows } from "./similar-blocks.ts"
import { linesRegion, textLines, searchLines } from "./text-lines.ts"

export const STRATEGY_NAMES = [
  "exact",
  "line_trimmed",
  "whitespace_normalized",
  "indentation_flexible",
  "escape_normalized",
  "trimmed_boundary",
  "unicode_normalized",
  "block_anchor",
  "context_aware",
] as const
export type StrategyName = (typeof STRATEGY_NAMES)[number]

/** Finds a text in a file by one definition of equality, in file order. */
export type MatchStrategy = (content: string, old: string) => readonly TextRegion[]

/** From the strictest to the loosest, in the order of STRATEGY_NAMES. */
export const STRATEGIES: Readonly<Record<StrategyName, MatchStrategy>> = {
  exact: occurrences,
  line_trimmed: (content, old) => equalLines(content, old, (line) => line.trim()),
  whitespace_normalized: spacesCollapsed,
  indentation_flexible: (content, old) => equalLines(content, old, (line) => line.trimStart()),
  escape_normalized: (content, old) => {
    const unescaped = unescapeControls(old)
    return unescaped === old ? [] : occurrences(content, unescaped)
  },
  trimmed_boundary: (content, old) =>
    equalLines(content, old, (line, { isBoundary }) => (isBoundary ? line.trim() : line)),
  unicode_normalized: plainPunctuation,
  block_anchor: anchoredBlocks,
  context_aware: similarWindows,
}

/** Literal `\n`, `\t` and `\r` as the characters they stand for. */
export function unescapeControls(text: string): string {
  return text.replaceAll(/\\([ntr])/g, (_whole, letter: string) => CONTROLS[letter] ?? "")
}

const CONTROLS: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" }

function occurrences(content: string, old: string): TextRegion[] {
  const found: TextRegion[] = []
  for (let at = content.indexOf(old); at !== -1; at = content.indexOf(old, at + old.length)) {
    found.push({ start: at, end: at + old.length })
  }
  return found
}

type LineForm = (line: string, position: { readonly isBoundary: boolean }) => string

/** Non-overlapping windows of whole lines that are equal after normalisation. */
function equalLines(content: string, old: string, form: LineForm): TextRegion[] {
  const text = textLines(content)
  const { lines: wanted, withLineEnd } = searchLines(old)
  const isBoundary = (index: number): boolean => index === 0 || index === wanted.length - 1
  const forms = wanted.map((line, index) => form(line, { isBoundary: isBoundary(index) }))
  const found: TextRegion[] = []
  for (let first = 0; first + wanted.length <= text.lines.length; first += 1) {
    const equal = forms.every(
      (line, index) => form(text.lines[first + index] ?? "", { isBoundary: isBoundary(index) }) === line,
    )
    if (!equal) continue
    found.push(linesRegion(text, { first, count: wanted.length, withLineEnd }))
    first += wanted.length - 1
  }
  return found
}

/** Treats runs of spaces and tabs as one space. */
function spacesCollapsed(content: string, old: string): TextRegion[] {
  const found = occurrences(content.replaceAll(RUNS, " "), old.replaceAll(RUNS, " "))
  if (found.length === 0) return []
  const starts = startsCollapsed(content)
  return found.map(({ start, end }) => {
    const last = starts[end] ?? content.length
    // Trailing spaces belong to the replaced line.
    const trailing = /[ \t]*/y
    trailing.lastIndex = last
    const behind = last + (trailing.exec(content)?.[0].length ?? 0)
    return {
      start: starts[start] ?? 0,
      end: behind === content.length || content[behind] === "\n" ? behind : last,
    }
  })
}

const RUNS = /[ \t]+/g

/** The original offset of each character of the collapsed text. */
function startsCollapsed(content: string): readonly number[] {
  const starts: number[] = []
  let inRun = false
  for (let index = 0; index < content.length; index += 1) {
    const isSpace = content[index] === " " || content[index] === "\t"
    if (!isSpace || !inRun) starts.push(index)
    inRun = isSpace
  }
  return starts
}

/** Replaces typographic quotes, dashes, ellipses and no-break spaces with the ASCII characters that models write. */
function plainPunctuation(content: string, old: string): TextRegion[] {
  const [text, wanted] = [plain(content), plain(old)]
  if (text === content && wanted === old) return []
  const direct = occurrences(text, wanted)
  const found = direct.length > 0 ? direct : equalLines(text, wanted, (line) => line.trim())
  if (found.length === 0) return []
  const starts = startsPlain(content)
  return found.flatMap(({ start, end }) => {
    // A match must not begin or end inside a replaced character.
    if (starts[start] === starts[start - 1]) return []
    if (end < starts.length && starts[end] === starts[end - 1]) return []
    return [{ start: starts[start] ?? 0, end: starts[end] ?? content.length }]
  })
}

function plain(text: string): string {
  return text.replaceAll(TYPOGRAPHIC, (sign) => PLAIN_SIGNS[sign] ?? sign)
}

const PLAIN_SIGNS: Readonly<Record<string, string>> = {
  "\u{2018}": "'",
  "\u{2019}": "'",
  "\u{201C}": '"',
  "\u{201D}": '"',
  "\u{2014}": "--",
  "\u{2013}": "-",
  "\u{2026}": "...",
  "\u{00A0}": " ",
}
const TYPOGRAPHIC = /[\u{2018}\u{2019}\u{201C}\u{201D}\u{2014}\u{2013}\u{2026}\u{00A0}]/gu

/** The original offset of each character of the ASCII text. */
function startsPlain(content: string): readonly number[] {
  const starts: number[] = []
  for (let index = 0; index < content.length; index += 1) {
    const length = (PLAIN_SIGNS[content[index] ?? ""] ?? " ").length
    for (let repeat = 0; repeat < length; repeat += 1) starts.push(index)
  }
  return starts
}
