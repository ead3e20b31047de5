import type { Learning } from "./learning.ts"
import { lastConfirmedAt } from "./learning.ts"
import { errorWords } from "./error-words.ts"

/** A learning that matches a query. */
export interface FoundLearning {
  readonly learning: Learning
  /** How well the words match, 0 to 1. */
  readonly relevance: number
  /** Relevance, increased by use and decreased by age. */
  readonly score: number
}

/** Learnings with their words and weights, computed once per version of the file. */
export interface RankIndex {
  readonly documents: readonly Document[]
  /** The inverse document frequency of a word. */
  weightOf(word: string): number
}

interface Document {
  readonly learning: Learning
  readonly pattern: ReadonlySet<string>
  readonly patternWeight: number
  /** Words of the error, its type, tool and tags. */
  readonly subject: ReadonlySet<string>
  /** Words of the fix and context, which count half. */
  readonly explanation: ReadonlySet<string>
}

export function indexLearnings(learnings: readonly Learning[]): RankIndex {
  const frequency = new Map<string, number>()
  const split = learnings.map((learning) => {
    const pattern = errorWords(learning.pattern)
    const names = [learning.errorType, learning.tool ?? "", ...learning.tags].join(" ")
    const subject = new Set([...pattern, ...errorWords(names)])
    const explanation = errorWords(`${learning.fix} ${learning.context}`)
    for (const word of new Set([...subject, ...explanation])) frequency.set(word, (frequency.get(word) ?? 0) + 1)
    return { learning, pattern, subject, explanation }
  })
  const weightOf = (word: string): number => {
    const count = frequency.get(word) ?? 0
    return Math.log(1 + (learnings.length - count + 0.5) / (count + 0.5))
  }
  const documents = split.map((document) => ({
    ...document,
    patternWeight: sum(Array.from(document.pattern, weightOf)),
  }))
  return { documents, weightOf }
}

/**
 * Returns the best learnings first, equal scores by recency. Words are weighted by inverse document frequency as in BM25, without its
 * saturation and length terms, because errors are short and hardly repeat a word.
 *
 * Relevance is normalized to 0..1, so that a threshold means the same for files of any size. It is the larger of two shares: how much of
 * the query's weight the learning contains, and how much of the learning's pattern the query contains. The second finds a short pattern
 * (`EADDRINUSE`) in a long error. It counts fully with two distinctive words, half with one, and not at all with words that are common in
 * errors.
 */
export function rankLearnings(
  query: string,
  index: RankIndex,
  options: { readonly now: number; readonly tags?: readonly string[] },
): readonly FoundLearning[] {
  const queryWords = Array.from(errorWords(query), (word) => ({ word, weight: index.weightOf(word) }))
  if (queryWords.length === 0) return []
  const tags = (options.tags ?? []).map((tag) => tag.toLowerCase())
  return index.documents
    .filter(({ learning }) => tags.every((tag) => learning.tags.includes(tag)))
    .map((document) => ({ learning: document.learning, relevance: relevanceOf(queryWords, document) }))
    .filter(({ relevance }) => relevance > 0)
    .map((found) => ({ ...found, score: found.relevance * usefulness(found.learning, options.now) }))
    .toSorted((a, b) => b.score - a.score || compareRecency(b.learning, a.learning))
}

/** Compares by recency, oldest first. */
function compareRecency(a: Learning, b: Learning): number {
  return lastConfirmedAt(a) - lastConfirmedAt(b) || a.createdAt - b.createdAt
}

const HALF_LIFE_DAYS = 90
const SECONDS_PER_DAY = 86_400

function usefulness(learning: Learning, now: number): number {
  const ageDays = Math.max(0, now - lastConfirmedAt(learning)) / SECONDS_PER_DAY
  return (1 + Math.log(1 + learning.timesUsed)) * 0.5 ** (ageDays / HALF_LIFE_DAYS)
}

interface QueryWord {
  readonly word: string
  readonly weight: number
}

function relevanceOf(queryWords: readonly QueryWord[], document: Document): number {
  const total = sum(queryWords.map(({ weight }) => weight))
  const matched = sum(queryWords.map(({ word, weight }) => weight * shareOf(word, document)))
  return matched === 0 ? 0 : Math.max(matched / total, patternShare(queryWords, document))
}

function shareOf(word: string, { subject, explanation }: Document): number {
  if (subject.has(word)) return 1
  return explanation.has(word) ? 0.5 : 0
}

function patternShare(queryWords: readonly QueryWord[], { pattern, patternWeight }: Document): number {
  const shared = queryWords.filter(({ word }) => pattern.has(word))
  if (shared.length === 0) return 0
  const distinctive = shared.filter(({ word }) => !COMMON_IN_ERRORS.has(word)).length
  return (sum(shared.map(({ weight }) => weight)) / patternWeight) * Math.min(1, distinctive / 2)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

const COMMON_IN_ERRORS: ReadonlySet<string> = new Set(
  (
    "error errors failed failure fail exception fatal warning cannot could can not no unable invalid unexpected command " +
    "code exit file line found tool call run"
  ).split(" "),
)
