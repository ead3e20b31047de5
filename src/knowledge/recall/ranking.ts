import type { Concept, Form } from "./concepts.ts"
import { SENTENCE_MARK } from "./lexicon.ts"
import type { FoundChunk, TermUse } from "./recall-index.ts"

export interface Scored {
  readonly chunk: FoundChunk
  readonly score: number
}

/** How much a term tells that stands in so many entries. */
export function rarity(entries: number, use: TermUse): number {
  return Math.log(1 + (use.entries - entries + 0.5) / (entries + 0.5))
}

/** BM25's constants: how soon repetition stops to count, and how much the length of a text does. */
const SATURATION = 1.2
const LENGTH_WEIGHT = 0.75

/** What a text is worth that has the words of the query in as many different sentences. */
const SCATTERED_WORTH = 0.4

/**
 * BM25 over concepts: whichever form of a concept says most counts, so that a text with five synonyms of one word does not beat a
 * text with two of the words. Weighted by how much of the query the text covers, and its best sentence.
 */
export function keywordScores(
  concepts: readonly Concept[],
  chunks: readonly FoundChunk[],
  use: TermUse,
): ReadonlyMap<FoundChunk, number> {
  const forms = weighForms(concepts, use)
  const whole = forms.most.reduce((sum, weight) => sum + weight, 0)
  const scores = new Map<FoundChunk, number>()
  for (const chunk of chunks) {
    const { best, times, sentence } = matchesOf(chunk.terms, forms)
    const length = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * (chunk.terms.length / Math.max(1, use.averageTerms))
    let score = 0
    let covered = 0
    for (const [concept, weight] of best.entries()) {
      const count = times[concept] ?? 0
      covered += weight
      score += (weight * count * (SATURATION + 1)) / (count + SATURATION * length)
    }
    const together = SCATTERED_WORTH + (1 - SCATTERED_WORTH) * (sentence / whole)
    if (score > 0) scores.set(chunk, score * (covered / whole) * together)
  }
  return scores
}

/** How much it tells that a text says it so. */
export function weightOf({ terms, quality }: Form, use: TermUse): number {
  return quality * Math.max(...terms.map((term) => rarity(use.uses.get(term) ?? 0, use)))
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
  readonly most: readonly number[]
}

function weighForms(concepts: readonly Concept[], use: TermUse): WeighedForms {
  const all = concepts.flatMap(({ forms }, concept) =>
    forms.map((form) => ({ concept, terms: form.terms, weight: weightOf(form, use) })),
  )
  return {
    words: Map.groupBy(
      all.filter(({ terms }) => terms.length === 1),
      ({ terms }) => terms[0] ?? "",
    ),
    phrases: all.filter(({ terms }) => terms.length > 1),
    most: concepts.map((_, at) => Math.max(...all.filter(({ concept }) => concept === at).map(({ weight }) => weight))),
  }
}

interface Matches {
  /** The weight of the best form of each concept that is there, and how often it is. */
  readonly best: readonly number[]
  readonly times: readonly number[]
  /** The weight of what the best sentence covers. */
  readonly sentence: number
}

function matchesOf(terms: readonly string[], forms: WeighedForms): Matches {
  const best = forms.most.map(() => 0)
  const times = forms.most.map(() => 0)
  let sentence = 0
  let start = 0
  while (start < terms.length) {
    const mark = terms.indexOf(SENTENCE_MARK, start)
    const end = mark === -1 ? terms.length : mark
    const inSentence = new Map<number, number>()
    const meet = ({ concept, weight }: WeighedForm): void => {
      inSentence.set(concept, Math.max(weight, inSentence.get(concept) ?? 0))
      if (weight > (best[concept] ?? 0)) [best[concept], times[concept]] = [weight, 1]
      else if (weight === best[concept]) times[concept] = (times[concept] ?? 0) + 1
    }
    for (let at = start; at < end; at += 1) for (const form of forms.words.get(terms[at] ?? "") ?? []) meet(form)
    if (forms.phrases.length > 0) {
      const here = new Set(terms.slice(start, end))
      for (const phrase of forms.phrases) if (phrase.terms.every((term) => here.has(term))) meet(phrase)
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
const WORDS_ONLY = { cosine: 0, keyword: 0.9, recency: 0.1 }
const HALF_LIFE_DAYS = 30
const DAY_SECONDS = 86_400

/** Nearness, words and age in one figure of 0 to 1, best first. */
export function hybridScores(parts: {
  readonly keyword: ReadonlyMap<FoundChunk, number>
  readonly cosine: ReadonlyMap<FoundChunk, number>
  /** Epoch seconds. */
  readonly now: number
}): readonly Scored[] {
  const weights = parts.cosine.size > 0 ? WITH_VECTORS : WORDS_ONLY
  const best = Math.max(...parts.keyword.values(), Number.MIN_VALUE)
  const joined = new Map<number, { readonly chunk: FoundChunk; keyword: number; cosine: number }>()
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

/** Times the wanted number: what is further down never comes up to the top by being different. */
const CONSIDERED = 3

/** The best, each chosen for being good and for not repeating those before it (maximal marginal relevance). */
export function diversified(scored: readonly Scored[], limit: number): readonly Scored[] {
  const open = scored
    .slice(0, limit * CONSIDERED)
    .map((entry) => ({ entry, terms: new Set(entry.chunk.terms), likeness: 0 }))
  const chosen: Scored[] = []
  while (chosen.length < limit && open.length > 0) {
    const worth = ({ entry, likeness }: (typeof open)[number]): number =>
      DIVERSITY * entry.score - (1 - DIVERSITY) * likeness
    const next = open.reduce((best, candidate) => (worth(candidate) > worth(best) ? candidate : best))
    open.splice(open.indexOf(next), 1)
    chosen.push(next.entry)
    for (const candidate of open)
      candidate.likeness = Math.max(candidate.likeness, overlap(candidate.terms, next.terms))
  }
  return chosen
}

/** Shared terms over all terms of both. */
function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0
  for (const term of a) if (b.has(term)) shared += 1
  const all = a.size + b.size - shared
  return all === 0 ? 0 : shared / all
}
