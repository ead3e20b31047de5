/** Limits comparisons, whose time grows with the cube of the length of repetitive texts; beyond it texts count as different. */
export interface SimilarityEffort {
  stepsLeft: number
}

/**
 * The similarity of two texts from 0 to 1 (Ratcliff and Obershelp): twice the characters in common blocks over all characters.
 * Takes the longest common block, then recursively those before and after it. Of equally long blocks the first in `a` is taken,
 * then the first in `b`. No character is ignored as too frequent, because thresholds depend on the exact value.
 */
export function similarity(a: string, b: string, effort: SimilarityEffort): number {
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
  { threshold, effort }: { readonly threshold: number; readonly effort: SimilarityEffort },
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

/** Cost of one character of the bound, in comparison steps. */
const COUNTING_STEPS = 8

/** An upper bound of `similarity`, from the frequency of each character. */
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
  readonly effort: SimilarityEffort
  /** Whether further blocks cannot change the result, given what was found and the maximum that can still be found. */
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

/** Finds the longest common block of a span, using an index of the characters of `b`. */
function createBlockSearch(
  a: readonly number[],
  b: readonly number[],
  effort: SimilarityEffort,
): (span: Span) => Block {
  const positionsByPoint = new Map<number, number[]>()
  for (const [index, point] of b.entries()) {
    const known = positionsByPoint.get(point)
    if (known === undefined) positionsByPoint.set(point, [index])
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
      const positions = positionsByPoint.get(a[i] ?? -1) ?? []
      effort.stepsLeft -= positions.length + 1
      if (effort.stepsLeft < 0) return best
      // Descending, because the length at j - 1 must still be that of the previous row.
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
