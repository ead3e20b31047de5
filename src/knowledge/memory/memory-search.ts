/** Something that may be found: an entry of one of the files, or a learning. */
export interface SearchedText {
  readonly source: "memory" | "user" | "learning"
  readonly text: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Names a learning. */
  readonly id?: string
}

const MAX_RESULTS = 20

/** Texts that hold words of the query, most words first, then the newest; of equal age the later in the list is newer. */
export function searchTexts(query: string, texts: readonly SearchedText[]): readonly SearchedText[] {
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
  // "test" finds "tests", and scripts without spaces are found too; a word of one or two letters would be everywhere.
  return words.filter((word) => own.has(word) || (!/^[a-z0-9]{1,2}$/.test(word) && lower.includes(word))).length
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
}
