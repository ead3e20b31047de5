/** A shorter text is about one thing. */
const LONG_TEXT = 300
/** How much a word counts that is not in the sentence with most of the query. */
const ELSEWHERE = 0.3

const SENTENCE_END = /(?<=[.!?…])\s+|\n+|\\n/u

/**
 * In a long text, words count fully only in the sentence that has most of the query. `weights` and the result have one entry per
 * word, `forms` the forms of each word.
 */
export function proximityWeights(
  text: string,
  weights: readonly number[],
  forms: readonly (readonly string[])[],
): readonly number[] {
  if (text.length <= LONG_TEXT) return weights
  const present = weights.flatMap((weight, word) => (weight > 0 ? [word] : []))
  let best: readonly number[] = []
  let bestWeight = 0
  for (const sentence of text.toLowerCase().split(SENTENCE_END)) {
    const words = present.filter((word) => forms[word]?.some((form) => sentence.includes(form)) === true)
    const weight = words.reduce((sum, word) => sum + (weights[word] ?? 0), 0)
    if (weight > bestWeight) [best, bestWeight] = [words, weight]
  }
  // Where no word is in the text itself, it is in the arguments of a tool call.
  return best.length === 0
    ? weights
    : weights.map((weight, word) => (best.includes(word) ? weight : weight * ELSEWHERE))
}
