/**
 * How alike two texts are, from 0 to 1: twice the characters in common blocks over all characters. The longest common block is
 * taken, then the longest ones before and behind it, and so on (Ratcliff and Obershelp). Of equally long blocks the first in `a`
 * counts, then the first in `b`. No character is treated as too frequent to count: thresholds depend on the exact value.
 */
export function similarity(a: string, b: string): number {
  if (a === b) return 1
  const left = codePoints(a)
  const right = codePoints(b)
  return (2 * commonCharacters(left, right)) / (left.length + right.length)
}

/** Whether `similarity` reaches a threshold above zero; texts that cannot are told apart without comparing them. */
export function isSimilar(a: string, b: string, threshold: number): boolean {
  return similarityBound(a, b) >= threshold && similarity(a, b) >= threshold
}

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

function commonCharacters(a: readonly number[], b: readonly number[]): number {
  const search = createBlockSearch(a, b)
  const waiting: Span[] = [{ aStart: 0, aEnd: a.length, bStart: 0, bEnd: b.length }]
  let common = 0
  for (let span = waiting.pop(); span !== undefined; span = waiting.pop()) {
    const block = search(span)
    if (block.length === 0) continue
    common += block.length
    const { aEnd, bEnd } = span
    waiting.push(
      { ...span, aEnd: block.a, bEnd: block.b },
      { aStart: block.a + block.length, aEnd, bStart: block.b + block.length, bEnd },
    )
  }
  return common
}

interface Block {
  readonly a: number
  readonly b: number
  readonly length: number
}

/** Finds the longest common block of a span. Where `b` has each character is looked up, not searched for. */
function createBlockSearch(a: readonly number[], b: readonly number[]): (span: Span) => Block {
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
