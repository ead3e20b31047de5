import type { Region } from "../editable-text.ts"
import { isSimilar, similarity, similarityBound } from "./similarity.ts"
import { linesRegion, textLines, wantedLines } from "./text-lines.ts"

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

/** Where a text occurs in a file under one idea of equality, in the order of the file. */
export type Strategy = (content: string, old: string) => readonly Region[]

/** In the order of STRATEGY_NAMES: from the strictest to the loosest. */
export const STRATEGIES: Readonly<Record<StrategyName, Strategy>> = {
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

function occurrences(content: string, old: string): Region[] {
  const found: Region[] = []
  for (let at = content.indexOf(old); at !== -1; at = content.indexOf(old, at + old.length)) {
    found.push({ start: at, end: at + old.length })
  }
  return found
}

type LineForm = (line: string, place: { readonly isBoundary: boolean }) => string

/** Windows of whole lines that are equal once both sides are brought into a form; windows do not overlap. */
function equalLines(content: string, old: string, form: LineForm): Region[] {
  const text = textLines(content)
  const { lines: wanted, withLineEnd } = wantedLines(old)
  const isBoundary = (index: number): boolean => index === 0 || index === wanted.length - 1
  const forms = wanted.map((line, index) => form(line, { isBoundary: isBoundary(index) }))
  const found: Region[] = []
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

/** Runs of spaces and tabs count as one space, wherever they stand. */
function spacesCollapsed(content: string, old: string): Region[] {
  const normal = collapse(content)
  return occurrences(normal.text, old.replaceAll(/[ \t]+/g, " ")).map(({ start, end }) => {
    const last = normal.starts[end] ?? content.length
    // Spaces that only end a line belong to the line that is replaced.
    const trailing = /[ \t]*/y
    trailing.lastIndex = last
    const behind = last + (trailing.exec(content)?.[0].length ?? 0)
    return {
      start: normal.starts[start] ?? 0,
      end: behind === content.length || content[behind] === "\n" ? behind : last,
    }
  })
}

/** A rewritten text and where each of its characters comes from. */
interface MappedText {
  readonly text: string
  readonly starts: readonly number[]
}

function collapse(content: string): MappedText {
  const characters: string[] = []
  const starts: number[] = []
  let inRun = false
  for (let index = 0; index < content.length; index += 1) {
    const isSpace = content[index] === " " || content[index] === "\t"
    if (!isSpace || !inRun) {
      characters.push(isSpace ? " " : (content[index] ?? ""))
      starts.push(index)
    }
    inRun = isSpace
  }
  return { text: characters.join(""), starts }
}

/** Typographic quotes, dashes, ellipses and no-break spaces as the plain signs a model writes instead. */
function plainPunctuation(content: string, old: string): Region[] {
  const plainOld = old.replaceAll(TYPOGRAPHIC, (sign) => PLAIN_SIGNS[sign] ?? sign)
  const normal = mapPunctuation(content)
  if (normal.text === content && plainOld === old) return []
  const direct = occurrences(normal.text, plainOld)
  const found = direct.length > 0 ? direct : equalLines(normal.text, plainOld, (line) => line.trim())
  return found.flatMap(({ start, end }) => {
    // A match that begins or ends inside a rewritten sign would cut that sign in two.
    if (normal.starts[start] === normal.starts[start - 1]) return []
    if (end < normal.starts.length && normal.starts[end] === normal.starts[end - 1]) return []
    return [{ start: normal.starts[start] ?? 0, end: normal.starts[end] ?? content.length }]
  })
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

function mapPunctuation(content: string): MappedText {
  const parts: string[] = []
  const starts: number[] = []
  for (let index = 0; index < content.length; index += 1) {
    const sign = content[index] ?? ""
    const plain = PLAIN_SIGNS[sign] ?? sign
    parts.push(plain)
    for (let repeat = 0; repeat < plain.length; repeat += 1) starts.push(index)
  }
  return { text: parts.join(""), starts }
}

const ONLY_CANDIDATE = 0.5
const ONE_OF_SEVERAL = 0.7

/** Blocks whose first and last line are right and whose middle is alike. */
function anchoredBlocks(content: string, old: string): Region[] {
  const text = textLines(content)
  const { lines: wanted, withLineEnd } = wantedLines(old)
  const count = wanted.length
  if (count < 2) return []
  const [head, tail] = [(wanted[0] ?? "").trim(), (wanted.at(-1) ?? "").trim()]
  const candidates: number[] = []
  for (let first = 0; first + count <= text.lines.length; first += 1) {
    if (text.lines[first]?.trim() === head && text.lines[first + count - 1]?.trim() === tail) candidates.push(first)
  }
  const threshold = candidates.length === 1 ? ONLY_CANDIDATE : ONE_OF_SEVERAL
  const middle = wanted.slice(1, -1).join("\n")
  if (candidates.length * middle.length > MAX_COMPARED_CHARS) return []
  return candidates
    .filter(
      (first) => count === 2 || isSimilar(text.lines.slice(first + 1, first + count - 1).join("\n"), middle, threshold),
    )
    .map((first) => linesRegion(text, { first, count, withLineEnd }))
}

const SIMILAR_LINE = 0.8

/** Windows of which at least half of the lines are alike; blank lines alone make no likeness. */
function similarWindows(content: string, old: string): Region[] {
  const text = textLines(content)
  const { lines, withLineEnd } = wantedLines(old)
  const wanted = lines.map((line) => line.trim())
  const filled = wanted.filter((line) => line !== "").length
  if (text.lines.length * wanted.length > MAX_LINE_PAIRS) return []
  const trimmed = text.lines.map((line) => line.trim())
  const comparison = createLineComparison()
  const found: Region[] = []
  for (let first = 0; first + wanted.length <= trimmed.length; first += 1) {
    const similar = wanted.filter((line, index) => comparison.alike(line, trimmed[first + index] ?? ""))
    const similarFilled = similar.filter((line) => line !== "").length
    if (similar.length * 2 >= wanted.length && similarFilled * 2 >= filled) {
      found.push(linesRegion(text, { first, count: wanted.length, withLineEnd }))
    }
  }
  // What was not compared might have been a second match.
  return comparison.exhausted() ? [] : found
}

/** Beyond these a looser match is not worth the seconds it takes; the file is edited by an exact text or not at all. */
const MAX_COMPARED_CHARS = 2_000_000
const MAX_LINE_PAIRS = 20_000_000
const MAX_CHARACTER_PAIRS = 400_000_000
const MAX_LINE_CHARS = 2000

/** Whether two lines are alike, each pair compared once. Very long lines are alike when they are equal. */
function createLineComparison() {
  const known = new Map<string, Map<string, boolean>>()
  const profiles = new Map<string, LineProfile>()
  let spent = 0
  const profileOf = (line: string): LineProfile => {
    const profile = profiles.get(line) ?? lineProfile(line)
    profiles.set(line, profile)
    return profile
  }
  const compare = (a: string, b: string): boolean => {
    if (profileBound(profileOf(a), profileOf(b)) < SIMILAR_LINE) return false
    spent += a.length * b.length
    return spent <= MAX_CHARACTER_PAIRS && isSimilar(a, b, SIMILAR_LINE)
  }
  return {
    exhausted: () => spent > MAX_CHARACTER_PAIRS,
    alike: (a: string, b: string): boolean => {
      if (a === b) return true
      if (a === "" || b === "" || a.length > MAX_LINE_CHARS || b.length > MAX_LINE_CHARS) return false
      const row = known.get(a) ?? new Map<string, boolean>()
      known.set(a, row)
      const answer = row.get(b) ?? compare(a, b)
      row.set(b, answer)
      return answer
    },
  }
}

/** How many characters of each of 64 kinds a line has: enough to see that two lines cannot be alike. */
interface LineProfile {
  readonly length: number
  readonly kinds: Uint16Array
}

function lineProfile(line: string): LineProfile {
  const kinds = new Uint16Array(64)
  let length = 0
  for (const character of line) {
    const kind = (character.codePointAt(0) ?? 0) & 63
    kinds[kind] = (kinds[kind] ?? 0) + 1
    length += 1
  }
  return { length, kinds }
}

function profileBound(a: LineProfile, b: LineProfile): number {
  const total = a.length + b.length
  if ((2 * Math.min(a.length, b.length)) / total < SIMILAR_LINE) return 0
  let shared = 0
  for (let kind = 0; kind < 64; kind += 1) shared += Math.min(a.kinds[kind] ?? 0, b.kinds[kind] ?? 0)
  return (2 * shared) / total
}

/** Up to `max` lines of the file that are most like the one wanted, best first, as line indexes. */
export function mostSimilarLines(
  lines: readonly string[],
  wanted: string,
  { above, max }: { readonly above: number; readonly max: number },
): readonly number[] {
  let best: { readonly index: number; readonly score: number }[] = []
  for (const [index, line] of lines.slice(0, MAX_SUGGESTION_LINES).entries()) {
    const text = line.trim()
    const least = best.length < max ? above : (best.at(-1)?.score ?? above)
    if (text.length > MAX_LINE_CHARS || similarityBound(wanted, text) <= least) continue
    const score = similarity(wanted, text)
    if (score > least) best = [...best, { index, score }].toSorted((a, b) => b.score - a.score).slice(0, max)
  }
  return best.map(({ index }) => index)
}

const MAX_SUGGESTION_LINES = 50_000
