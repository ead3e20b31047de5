import type { TextRegion } from "../../text/text-edit.ts"
import { isSimilar, similarity, similarityBound } from "./similarity.ts"
import { linesRegion, textLines, searchLines } from "./text-lines.ts"

const ONLY_CANDIDATE = 0.5
const ONE_OF_SEVERAL = 0.7

/** Blocks with equal first and last lines and a similar middle. */
export function anchoredBlocks(content: string, old: string): TextRegion[] {
  const text = textLines(content)
  const { lines: wanted, withLineEnd } = searchLines(old)
  const count = wanted.length
  if (count < 2) return []
  const [head, tail] = [(wanted[0] ?? "").trim(), (wanted.at(-1) ?? "").trim()]
  const candidates: number[] = []
  for (let first = 0; first + count <= text.lines.length; first += 1) {
    if (text.lines[first]?.trim() === head && text.lines[first + count - 1]?.trim() === tail) candidates.push(first)
  }
  const threshold = candidates.length === 1 ? ONLY_CANDIDATE : ONE_OF_SEVERAL
  const middle = wanted.slice(1, -1).join("\n")
  const effort = { stepsLeft: MAX_STEPS }
  const alike = candidates.filter((first) => {
    const found = text.lines.slice(first + 1, first + count - 1).join("\n")
    return count === 2 || isSimilar(found, middle, { threshold, effort })
  })
  // A block that was not compared might have been a second match.
  return effort.stepsLeft < 0 ? [] : alike.map((first) => linesRegion(text, { first, count, withLineEnd }))
}

const SIMILAR_LINE = 0.8

/** Windows in which at least half of the lines are similar; blank lines do not count. */
export function similarWindows(content: string, old: string): TextRegion[] {
  const text = textLines(content)
  const { lines, withLineEnd } = searchLines(old)
  if (text.lines.length * lines.length > MAX_LINE_PAIRS) return []
  const wanted = lines.map(comparedLine)
  const present = text.lines.map(comparedLine)
  const comparison = createLineComparison()
  const filled = wanted.filter((line) => line.text !== "").length
  const isAlike = (first: number): boolean => {
    const allowed = { all: Math.floor(wanted.length / 2), filled: Math.floor(filled / 2) }
    return wanted.every((line, index) => {
      const other = present[first + index]
      if (other === undefined || comparison.alike(line, other)) return true
      allowed.all -= 1
      if (line.text !== "") allowed.filled -= 1
      return allowed.all >= 0 && allowed.filled >= 0
    })
  }
  const found: TextRegion[] = []
  for (let first = 0; first + wanted.length <= present.length; first += 1) {
    if (isAlike(first)) found.push(linesRegion(text, { first, count: wanted.length, withLineEnd }))
  }
  return comparison.exhausted() ? [] : found
}

/** Beyond these limits a similarity search would take seconds, so only the stricter strategies apply. */
const MAX_STEPS = 50_000_000
const MAX_LINE_PAIRS = 5_000_000
const MAX_LINE_CHARS = 2000

/** Whether two lines are similar; each pair is compared once. Very long lines must be equal. */
function createLineComparison() {
  const known = new Map<ComparedLine, Map<string, boolean>>()
  const effort = { stepsLeft: MAX_STEPS }
  const compare = (a: ComparedLine, b: ComparedLine): boolean => {
    const row = known.get(a) ?? new Map<string, boolean>()
    known.set(a, row)
    const before = row.get(b.text)
    if (before !== undefined) return before
    const answer = isSimilar(a.text, b.text, { threshold: SIMILAR_LINE, effort })
    row.set(b.text, answer)
    return answer
  }
  return {
    exhausted: () => effort.stepsLeft < 0,
    alike: (a: ComparedLine, b: ComparedLine): boolean => {
      if (a.text === b.text) return true
      if (effort.stepsLeft < 0 || lineBound(a, b) < SIMILAR_LINE) return false
      return compare(a, b)
    },
  }
}

/** A trimmed line with a histogram of its characters in 64 classes, which quickly excludes dissimilar lines. */
interface ComparedLine {
  readonly text: string
  readonly length: number
  readonly kinds: Uint16Array
}

function comparedLine(line: string): ComparedLine {
  const text = line.trim()
  const kinds = new Uint16Array(64)
  let length = 0
  for (const character of text.length > MAX_LINE_CHARS ? "" : text) {
    const kind = (character.codePointAt(0) ?? 0) & 63
    kinds[kind] = (kinds[kind] ?? 0) + 1
    length += 1
  }
  return { text, length, kinds }
}

/** An upper bound of the similarity of two lines. */
function lineBound(a: ComparedLine, b: ComparedLine): number {
  const total = a.length + b.length
  const shorter = Math.min(a.length, b.length)
  if (shorter === 0 || (2 * shorter) / total < SIMILAR_LINE) return 0
  let shared = 0
  for (let kind = 0; kind < 64; kind += 1) shared += Math.min(a.kinds[kind] ?? 0, b.kinds[kind] ?? 0)
  return (2 * shared) / total
}

/** The indexes of up to `max` lines most similar to the given one, best first. */
export function mostSimilarLines(
  lines: readonly string[],
  wanted: string,
  { above, max }: { readonly above: number; readonly max: number },
): readonly number[] {
  const effort = { stepsLeft: MAX_SUGGESTION_STEPS }
  let best: { readonly index: number; readonly score: number }[] = []
  for (const [index, line] of lines.slice(0, MAX_SUGGESTION_LINES).entries()) {
    const text = line.trim()
    const least = best.length < max ? above : (best.at(-1)?.score ?? above)
    if (text.length > MAX_LINE_CHARS || similarityBound(wanted, text) <= least) continue
    const score = similarity(wanted, text, effort)
    if (effort.stepsLeft < 0) break
    if (score > least) best = [...best, { index, score }].toSorted((a, b) => b.score - a.score).slice(0, max)
  }
  return best.map(({ index }) => index)
}

const MAX_SUGGESTION_LINES = 50_000
const MAX_SUGGESTION_STEPS = 20_000_000
