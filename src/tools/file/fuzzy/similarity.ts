/** Comparisons of long repetitive texts take time with the cube of their length; when it is used up, texts count as not alike. */
export interface Effort {
  stepsLeft: number
}

/**
 * How alike two texts are, from 0 to 1: twice the characters in common blocks over all characters. The longest common block is
 * taken, then the longest ones before and behind it, and so on (Ratcliff and Obershelp). Of equally long blocks the first in `a`
 * counts, then the first in `b`. No character is treated as too frequent to count: thresholds depend on the exact value.
 */
export function similarity(a: string, b: string, effort: Effort): number {
  if (a === b) return 1
  const left = codePoints(a)
  const right = codePoints(b)
  const total = left.length + right.length
  const common = commonCharacters(left, right, { effort, isDecided: () => false })
  return effort.stepsLeft < 0 ? 0 : (2 * common) / total
}

/** Whether `similarity` reaches a threshold above zero; the comparison ends as soon as that is certain. */
export function isSimilar(
  a: string,
  b: string,
  { threshold, effort }: { readonly threshold: number; readonly effort: Effort },
): boolean {
  if (a === b) return true
  effort.stepsLeft -= COUNTING_STEPS * (a.length + b.length)
  if (effort.stepsLeft < 0 || similarityBound(a, b) < threshold) return false
  const left = codePoints(a)
  const right = codePoints(b)
  const total = left.length + right.length
  const reaches = (common: number): boolean => (2 * common) / total >= threshold
  const common = commonCharacters(left, right, {
    effort,
    isDecided: (found, possible) => reaches(found) || !reaches(found + possible),
  })
  return effort.stepsLeft >= 0 && reaches(common)
}

/** What looking at one character of the bound costs, in steps of a comparison. */
const COUNTING_STEPS = 8

/** A number that `similarity` does not exceed, from how often each character occurs. */
export function similarityBound(a: string, b: string): number {
  if (a === b) return 1
  const left = codePoints(a)
  const right = codePoints(b)
  const total = left.length + right.length
  const available = new Map<number, number>()
  for (const point of right) available.set(point, (available.get(point) ?? 0) + 1)
  let shared = 0
  for (const point of left) {
    const rest = available.get(point) ?? 0
    if (rest === 0) continue
    available.set(point, rest - 1)
    shared += 1
  }
  return (2 * shared) / total
}

function codePoints(text: string): readonly number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0)
}

interface Span {
  readonly aStart: number
  readonly aEnd: number
  readonly bStart: number
  readonly bEnd: number
}

interface Comparison {
  readonly effort: Effort
  /** Whether more blocks can change nothing, given what was found and the most that may still be found. */
  readonly isDecided: (found: number, possible: number) => boolean
}

function commonCharacters(a: readonly number[], b: readonly number[], { effort, isDecided }: Comparison): number {
  const search = createBlockSearch(a, b, effort)
  const waiting: Span[] = [{ aStart: 0, aEnd: a.length, bStart: 0, bEnd: b.length }]
  let possible = Math.min(a.length, b.length)
  let common = 0
  for (let span = waiting.pop(); span !== undefined; span = waiting.pop()) {
    const block = search(span)
    possible -= shorterSide(span)
    if (block.length > 0) {
      common += block.length
      const { aEnd, bEnd } = span
      const before = { ...span, aEnd: block.a, bEnd: block.b }
      const behind = { aStart: block.a + block.length, aEnd, bStart: block.b + block.length, bEnd }
      possible += shorterSide(before) + shorterSide(behind)
      waiting.push(before, behind)
    }
    if (effort.stepsLeft < 0 || isDecided(common, possible)) return common
  }
  return common
}

function shorterSide({ aStart, aEnd, bStart, bEnd }: Span): number {
  return Math.min(aEnd - aStart, bEnd - bStart)
}

interface Block {
  readonly a: number
  readonly b: number
  readonly length: number
}

/** Finds the longest common block of a span. Where `b` has each character is looked up, not searched for. */
function createBlockSearch(a: readonly number[], b: readonly number[], effort: Effort): (span: Span) => Block {
  const places = new Map<number, number[]>()
  for (const [index, point] of b.entries()) {
    const known = places.get(point)
    if (known === undefined) places.set(point, [index])
    else known.push(index)
  }
  // lengths[j]: length of the common block that ends at b[j] and at the character of `a` in rows[j].
  const lengths = new Int32Array(b.length)
  const rows = new Int32Array(b.length)
  let row = 0
  return ({ aStart, aEnd, bStart, bEnd }) => {
    let best: Block = { a: aStart, b: bStart, length: 0 }
    let bestRow = -1
    row += 2
    for (let i = aStart; i < aEnd; i += 1, row += 1) {
      const positions = places.get(a[i] ?? -1) ?? []
      effort.stepsLeft -= positions.length + 1
      if (effort.stepsLeft < 0) return best
      // Downwards, because the length at j - 1 must still be the one of the row before.
      for (let at = positions.length - 1; at >= 0; at -= 1) {
        const j = positions[at] ?? 0
        if (j >= bEnd) continue
        if (j < bStart) break
        const length = j > bStart && rows[j - 1] === row - 1 ? (lengths[j - 1] ?? 0) + 1 : 1
        lengths[j] = length
        rows[j] = row
        if (length > best.length || (length === best.length && bestRow === row)) {
          best = { a: i - length + 1, b: j - length + 1, length }
          bestRow = row
        }
      }
    }
    return best
  }
}
