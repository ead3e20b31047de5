/** An entry of a memory file, or a learning. */
export interface SearchableText {
  readonly source: "memory" | "user" | "learning"
  readonly text: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The id of a learning. */
  readonly id?: string
}

const MAX_RESULTS = 20

/** Returns the texts with words of the query: most words first, then newest. Of equal age, the later in the list counts as newer. */
export function searchByKeywords(query: string, texts: readonly SearchableText[]): readonly SearchableText[] {
  const words = [...new Set(wordsOf(query))]
  return texts
    .map((text, index) => ({ text, index, hits: countHits(words, text.text) }))
    .filter(({ hits }) => hits > 0)
    .toSorted((a, b) => b.hits - a.hits || b.text.at - a.text.at || b.index - a.index)
    .slice(0, MAX_RESULTS)
    .map(({ text }) => text)
}

function countHits(words: readonly string[], text: string): number {
  const lower = text.toLowerCase()
  const own = new Set(wordsOf(lower))
  // Substrings match too, for "tests" and for scripts without spaces, but not for words of one or two letters.
  return words.filter((word) => own.has(word) || (!/^[a-z0-9]{1,2}$/.test(word) && lower.includes(word))).length
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
}
