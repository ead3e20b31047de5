import type { Learning } from "./learning.ts"
import { provenAt } from "./learning.ts"
import { wordsOf } from "./error-words.ts"

/** A learning that fits a query. */
export interface FoundLearning {
  readonly learning: Learning
  /** How well the words fit, 0 to 1. */
  readonly relevance: number
  /** Relevance, raised by use and lowered by age. */
  readonly score: number
}

/** Learnings with their words, weighed once per state of the file. */
export interface RankIndex {
  readonly documents: readonly Document[]
  /** What a word weighs: the rarer, the more. */
  weigh(word: string): number
}

interface Document {
  readonly learning: Learning
  readonly pattern: ReadonlySet<string>
  readonly patternWeight: number
  /** The error itself, and the names it goes by. */
  readonly about: ReadonlySet<string>
  /** Explanations: words here count half. */
  readonly beside: ReadonlySet<string>
}

export function indexLearnings(learnings: readonly Learning[]): RankIndex {
  const frequency = new Map<string, number>()
  const split = learnings.map((learning) => {
    const pattern = wordsOf(learning.pattern)
    const names = [learning.errorType, learning.tool ?? "", ...learning.tags].join(" ")
    const about = new Set([...pattern, ...wordsOf(names)])
    const beside = wordsOf(`${learning.fix} ${learning.context}`)
    for (const word of new Set([...about, ...beside])) frequency.set(word, (frequency.get(word) ?? 0) + 1)
    return { learning, pattern, about, beside }
  })
  const weigh = (word: string): number => {
    const holding = frequency.get(word) ?? 0
    return Math.log(1 + (learnings.length - holding + 0.5) / (holding + 0.5))
  }
  const documents = split.map((document) => ({
    ...document,
    patternWeight: sum(Array.from(document.pattern, weigh)),
  }))
  return { documents, weigh }
}

/**
 * Best first; equal scores by recency. Words weigh by their rarity as in BM25 (inverse document frequency); saturation and
 * length play no part, since errors are short and hardly repeat a word.
 *
 * Relevance is normalised to 0..1, so that one threshold means the same in files of any size. It is the larger of two shares:
 * how much of the query's weight the learning holds, and how much of the learning's pattern the query holds. The second finds
 * a short pattern (`EADDRINUSE`) in a long error; it counts in full only from two telling words on, half with one and not at
 * all with words that every error has.
 */
export function rankLearnings(
  query: string,
  index: RankIndex,
  options: { readonly now: number; readonly tags?: readonly string[] },
): readonly FoundLearning[] {
  const asked = Array.from(wordsOf(query), (word) => ({ word, weight: index.weigh(word) }))
  if (asked.length === 0) return []
  const tags = (options.tags ?? []).map((tag) => tag.toLowerCase())
  return index.documents
    .filter(({ learning }) => tags.every((tag) => learning.tags.includes(tag)))
    .map((document) => ({ learning: document.learning, relevance: relevanceOf(asked, document) }))
    .filter(({ relevance }) => relevance > 0)
    .map((found) => ({ ...found, score: found.relevance * standing(found.learning, options.now) }))
    .toSorted((a, b) => b.score - a.score || recency(b.learning, a.learning))
}

/** Newer first when used as `recency(b, a)`. */
function recency(a: Learning, b: Learning): number {
  return provenAt(a) - provenAt(b) || a.createdAt - b.createdAt
}

const HALF_LIFE_DAYS = 90
const SECONDS_PER_DAY = 86_400

function standing(learning: Learning, now: number): number {
  const ageDays = Math.max(0, now - provenAt(learning)) / SECONDS_PER_DAY
  return (1 + Math.log(1 + learning.timesUsed)) * 0.5 ** (ageDays / HALF_LIFE_DAYS)
}

interface Asked {
  readonly word: string
  readonly weight: number
}

function relevanceOf(asked: readonly Asked[], document: Document): number {
  const whole = sum(asked.map(({ weight }) => weight))
  const held = sum(asked.map(({ word, weight }) => weight * shareOf(word, document)))
  return held === 0 ? 0 : Math.max(held / whole, patternShare(asked, document))
}

function shareOf(word: string, { about, beside }: Document): number {
  if (about.has(word)) return 1
  return beside.has(word) ? 0.5 : 0
}

function patternShare(asked: readonly Asked[], { pattern, patternWeight }: Document): number {
  const shared = asked.filter(({ word }) => pattern.has(word))
  if (shared.length === 0) return 0
  const telling = shared.filter(({ word }) => !COMMON_IN_ERRORS.has(word)).length
  return (sum(shared.map(({ weight }) => weight)) / patternWeight) * Math.min(1, telling / 2)
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
