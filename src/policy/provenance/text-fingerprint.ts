import { canonical, disguises, withDecodedForms } from "./canonical-text.ts"

/**
 * Remembers which values texts contain, without the texts: hashes of their overlapping parts in a bit field of fixed size. May say yes
 * for a value that never occurred, with a small probability; never no for one that did.
 */
export interface TextFingerprint {
  add(text: string): void
  /** Whether a value occurred as it is, encoded, backwards or with moved letters. */
  contains(value: string): boolean
  /** The longest part of a text, in its canonical form, that occurred. */
  longestShared(text: string): string
}

const PART_CHARS = 6
const BITS = 2 ** 23
const MASK = BITS - 1

export function createTextFingerprint(): TextFingerprint {
  let field: Uint32Array | undefined
  const mark = (hash: number): void => {
    field ??= new Uint32Array(BITS / 32)
    for (const bit of [hash & MASK, (Math.imul(hash, 0x9e37_79b1) >>> 9) & MASK])
      field[bit >>> 5] = (field[bit >>> 5] ?? 0) | (1 << (bit & 31))
  }
  const isMarked = (hash: number): boolean => {
    const bits = field
    if (bits === undefined) return false
    const has = (bit: number): boolean => ((bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0
    return has(hash & MASK) && has((Math.imul(hash, 0x9e37_79b1) >>> 9) & MASK)
  }
  const occurs = (value: string): boolean => {
    if (value.length < PART_CHARS) return isMarked(hashOf(`word ${value}`))
    for (let at = 0; at + PART_CHARS <= value.length; at += 1)
      if (!isMarked(hashOf(value, at, at + PART_CHARS))) return false
    return true
  }
  return {
    add: (text) => {
      for (const form of withDecodedForms(text)) {
        const plain = canonical(form)
        for (let at = 0; at + PART_CHARS <= plain.length; at += 1) mark(hashOf(plain, at, at + PART_CHARS))
        for (const [word] of form.toLowerCase().matchAll(SHORT_WORD)) mark(hashOf(`word ${canonical(word)}`))
      }
    },
    contains: (value) => {
      const plain = canonical(value)
      return plain !== "" && disguises(plain).some(occurs)
    },
    longestShared: (text) => {
      const plain = canonical(text)
      let longest = ""
      let start = 0
      for (let at = 0; at + PART_CHARS <= plain.length; at += 1) {
        if (!isMarked(hashOf(plain, at, at + PART_CHARS))) {
          start = at + 1
          continue
        }
        if (at + PART_CHARS - start > longest.length) longest = plain.slice(start, at + PART_CHARS)
      }
      return longest
    },
  }
}

/** Words that are too short for a part. */
const SHORT_WORD = /(?<![\p{L}\p{N}])[\p{L}\p{N}][\p{L}\p{N}._-]{0,6}(?![\p{L}\p{N}])/gu

function hashOf(text: string, from = 0, to = text.length): number {
  let hash = 0x811c_9dc5
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193)
  return (hash ^ (hash >>> 15)) >>> 0
}
