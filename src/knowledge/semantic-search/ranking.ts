import type { Concept, Form } from "./concepts.ts"
import { SENTENCE_SEPARATOR } from "./lexicon.ts"
import type { IndexedChunk, TermStatistics } from "../../protocol/semantic-index.ts"

export interface Scored {
  readonly chunk: IndexedChunk
  readonly score: number
}

/** The weight of a term that occurs in `frequency` chunks, as defined by BM25. */
function inverseDocumentFrequency(frequency: number, { chunkCount }: TermStatistics): number {
  return Math.log(1 + (chunkCount - frequency + 0.5) / (frequency + 0.5))
}

/** BM25's k1 and b: how quickly repetitions stop counting, and how much the length of a text matters. */
const SATURATION = 1.2
const LENGTH_WEIGHT = 0.75

/** Factor for a text whose best sentence covers nothing of the query; a sentence that covers all of it has factor 1. */
const SCATTERED_FACTOR = 0.4

/**
 * BM25 over concepts. Only the best form of each concept counts, so that a text with five synonyms of one query word does not beat
 * a text with two of the query words. The score is then weighted by how much of the query the text, and its best sentence, covers.
 */
export function keywordScores(
  concepts: readonly Concept[],
  chunks: readonly IndexedChunk[],
  statistics: TermStatistics,
): ReadonlyMap<IndexedChunk, number> {
  const forms = weighForms(concepts, statistics)
  const queryWeight = forms.maximum.reduce((sum, weight) => sum + weight, 0)
  const scores = new Map<IndexedChunk, number>()
  for (const chunk of chunks) {
    const { best, times, sentence } = matchesOf(chunk.terms, forms)
    const length = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * (chunk.terms.length / Math.max(1, statistics.averageLength))
    let score = 0
    let covered = 0
    for (const [concept, weight] of best.entries()) {
      const count = times[concept] ?? 0
      covered += weight
      score += (weight * count * (SATURATION + 1)) / (count + SATURATION * length)
    }
    const proximity = SCATTERED_FACTOR + (1 - SCATTERED_FACTOR) * (sentence / queryWeight)
    if (score > 0) scores.set(chunk, score * (covered / queryWeight) * proximity)
  }
  return scores
}

/** The weight of a form: its quality times the weight of its rarest term. */
export function weightOf({ terms, quality }: Form, statistics: TermStatistics): number {
  return (
    quality *
    Math.max(...terms.map((term) => inverseDocumentFrequency(statistics.documentFrequency.get(term) ?? 0, statistics)))
  )
}

interface WeighedForm {
  readonly concept: number
  readonly weight: number
  readonly terms: readonly string[]
}

interface WeighedForms {
  readonly words: ReadonlyMap<string, readonly WeighedForm[]>
  readonly phrases: readonly WeighedForm[]
  /** The weight of the best form of each concept. */
  readonly maximum: readonly number[]
}

function weighForms(concepts: readonly Concept[], statistics: TermStatistics): WeighedForms {
  const all = concepts.flatMap(({ forms }, concept) =>
    forms.map((form) => ({ concept, terms: form.terms, weight: weightOf(form, statistics) })),
  )
  return {
    words: Map.groupBy(
      all.filter(({ terms }) => terms.length === 1),
      ({ terms }) => terms[0] ?? "",
    ),
    phrases: all.filter(({ terms }) => terms.length > 1),
    maximum: concepts.map((_, index) =>
      Math.max(...all.filter(({ concept }) => concept === index).map(({ weight }) => weight)),
    ),
  }
}

interface Matches {
  /** Per concept: the weight of its best form in the text, 0 if it has none, and how often that form occurs. */
  readonly best: readonly number[]
  readonly times: readonly number[]
  /** The total weight of the concepts in the best sentence. */
  readonly sentence: number
}

function matchesOf(terms: readonly string[], forms: WeighedForms): Matches {
  const best = forms.maximum.map(() => 0)
  const times = forms.maximum.map(() => 0)
  let sentence = 0
  let start = 0
  while (start < terms.length) {
    const separator = terms.indexOf(SENTENCE_SEPARATOR, start)
    const end = separator === -1 ? terms.length : separator
    const inSentence = new Map<number, number>()
    const countMatch = ({ concept, weight }: WeighedForm): void => {
      inSentence.set(concept, Math.max(weight, inSentence.get(concept) ?? 0))
      if (weight > (best[concept] ?? 0)) [best[concept], times[concept]] = [weight, 1]
      else if (weight === best[concept]) times[concept] = (times[concept] ?? 0) + 1
    }
    for (let index = start; index < end; index += 1)
      for (const form of forms.words.get(terms[index] ?? "") ?? []) countMatch(form)
    if (forms.phrases.length > 0) {
      const present = new Set(terms.slice(start, end))
      for (const phrase of forms.phrases) if (phrase.terms.every((term) => present.has(term))) countMatch(phrase)
    }
    sentence = Math.max(
      sentence,
      inSentence.values().reduce((sum, weight) => sum + weight, 0),
    )
    start = end + 1
  }
  return { best, times, sentence }
}

const WITH_VECTORS = { cosine: 0.55, keyword: 0.35, recency: 0.1 }
const KEYWORDS_ONLY = { cosine: 0, keyword: 0.9, recency: 0.1 }
const HALF_LIFE_DAYS = 30
const DAY_SECONDS = 86_400

/** Combines vector similarity, keyword score and recency into one score of 0 to 1. Returns the best first. */
export function hybridScores(parts: {
  readonly keyword: ReadonlyMap<IndexedChunk, number>
  readonly cosine: ReadonlyMap<IndexedChunk, number>
  /** Epoch seconds. */
  readonly now: number
}): readonly Scored[] {
  const weights = parts.cosine.size > 0 ? WITH_VECTORS : KEYWORDS_ONLY
  const best = Math.max(...parts.keyword.values(), Number.MIN_VALUE)
  const joined = new Map<number, { readonly chunk: IndexedChunk; keyword: number; cosine: number }>()
  for (const [chunk, score] of parts.keyword) joined.set(chunk.id, { chunk, keyword: score / best, cosine: 0 })
  for (const [chunk, cosine] of parts.cosine) {
    const known = joined.get(chunk.id)
    if (known === undefined) joined.set(chunk.id, { chunk, keyword: 0, cosine })
    else known.cosine = cosine
  }
  return [...joined.values()]
    .map(({ chunk, keyword, cosine }) => {
      const days = Math.max(0, parts.now - chunk.createdAt) / DAY_SECONDS
      const recency = 0.5 ** (days / HALF_LIFE_DAYS)
      return {
        chunk,
        score: weights.cosine * cosine + weights.keyword * keyword + weights.recency * recency,
      }
    })
    .toSorted((a, b) => b.score - a.score || b.chunk.createdAt - a.chunk.createdAt || b.chunk.id - a.chunk.id)
}

const DIVERSITY = 0.7

/** Multiple of the limit that is considered: a chunk further down is too weak, however different it is. */
const CONSIDERED = 3

/** Picks the best chunks that do not repeat each other (maximal marginal relevance). */
export function diversify(scored: readonly Scored[], limit: number): readonly Scored[] {
  const candidates = scored
    .slice(0, limit * CONSIDERED)
    .map((entry) => ({ entry, terms: new Set(entry.chunk.terms), similarity: 0 }))
  const chosen: Scored[] = []
  while (chosen.length < limit && candidates.length > 0) {
    const marginalRelevance = ({ entry, similarity }: (typeof candidates)[number]): number =>
      DIVERSITY * entry.score - (1 - DIVERSITY) * similarity
    const next = candidates.reduce((best, candidate) =>
      marginalRelevance(candidate) > marginalRelevance(best) ? candidate : best,
    )
    candidates.splice(candidates.indexOf(next), 1)
    chosen.push(next.entry)
    for (const candidate of candidates)
      candidate.similarity = Math.max(candidate.similarity, jaccard(candidate.terms, next.terms))
  }
  return chosen
}

/** Jaccard index of two sets of terms. */
function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0
  for (const term of a) if (b.has(term)) shared += 1
  const all = a.size + b.size - shared
  return all === 0 ? 0 : shared / all
}
