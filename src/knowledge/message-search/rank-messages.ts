import type { SearchableMessage } from "../../protocol/message-words.ts"
import { isQuestion } from "./asked-before.ts"

/** The messages that contain one word of the query, and how much the word counts. */
export interface WeighedWord {
  readonly weight: number
  /** The forms in which the messages contain it. */
  readonly forms: readonly string[]
  readonly own: readonly number[]
  readonly synonyms: readonly number[]
}

/** Which words of the query each message contains, as sets of bits. */
export interface WordMatches {
  readonly words: readonly WeighedWord[]
  readonly own: ReadonlyMap<number, number>
  readonly synonyms: ReadonlyMap<number, number>
}

// Tuned with the tuning set of the benchmark `memory-retrieval`.
const SYNONYM = 0.5
/** How much a word counts for a message when it is one, two or three messages away. */
const DECAY = [0.45, 0.25, 0.12]
/** How much the words of a question count for its answer. */
const ANSWER = 0.6
/** How much a word counts that occurs farther away, but nearby in the same conversation. */
const FAR = { factor: 0.15, ids: 20 }
/** BM25's k1 and b: how quickly a longer text lowers the weight of its words. Messages are short, so it matters little. */
const SATURATION = 1.2
const LENGTH_WEIGHT = 0.2

export const NEIGHBOURS = DECAY.length

export function matchWords(words: readonly WeighedWord[]): WordMatches {
  const own = new Map<number, number>()
  const synonyms = new Map<number, number>()
  for (const [bit, word] of words.entries()) {
    for (const id of word.own) own.set(id, (own.get(id) ?? 0) | (1 << bit))
    for (const id of word.synonyms) synonyms.set(id, (synonyms.get(id) ?? 0) | (1 << bit))
  }
  return { words, own, synonyms }
}

/**
 * The ids of up to `limit` matching messages: those with the most weight first, and the newest first among equals. There are far
 * fewer combinations of words than messages, so the combinations are sorted.
 */
export function bestMatches(matches: WordMatches, limit: number): readonly number[] {
  const groups = new Map<number, { readonly weight: number; readonly ids: number[] }>()
  const add = (id: number): void => {
    const [own, synonyms] = [matches.own.get(id) ?? 0, matches.synonyms.get(id) ?? 0]
    const key = own * 2 ** MAX_BITS + synonyms
    const group = groups.get(key) ?? { weight: sum(weightsOf(matches, own, synonyms)), ids: [] }
    if (group.ids.push(id) === 1) groups.set(key, group)
  }
  for (const id of matches.own.keys()) add(id)
  for (const id of matches.synonyms.keys()) if (!matches.own.has(id)) add(id)
  const ids: number[] = []
  for (const group of [...groups.values()].toSorted((a, b) => b.weight - a.weight)) {
    if (ids.length >= limit) break
    ids.push(...group.ids.toSorted((a, b) => b - a).slice(0, limit - ids.length))
  }
  return ids
}

/** A query has at most this many words. */
const MAX_BITS = 24

/** The weight of each word of the query in a message; 0 where it is missing. */
export function strengths(matches: WordMatches, id: number): readonly number[] {
  return weightsOf(matches, matches.own.get(id) ?? 0, matches.synonyms.get(id) ?? 0)
}

function weightsOf({ words }: WordMatches, own: number, synonyms: number): readonly number[] {
  return words.map(({ weight }, bit) => {
    if (own & (1 << bit)) return weight
    return synonyms & (1 << bit) ? weight * SYNONYM : 0
  })
}

/** A message and the ones around it, oldest first. */
export interface MessageContext {
  readonly row: SearchableMessage
  readonly before: readonly SearchableMessage[]
  readonly after: readonly SearchableMessage[]
}

/**
 * Scores a message by the words of the query in it and, less the farther away they are, in the messages around it: people mention
 * the subject in one message and answer in the next. Each word counts once, where it is strongest.
 */
export function contextScore(
  { row, before, after }: MessageContext,
  matches: WordMatches,
  strengthsOf: (message: SearchableMessage) => readonly number[],
): number {
  const best = [...strengthsOf(row)]
  const spread = (strength: readonly number[], factor: number): void => {
    for (const [word, value] of strength.entries()) best[word] = Math.max(best[word] ?? 0, value * factor)
  }
  for (const [distance, message] of before.toReversed().entries()) {
    const isAnswer = distance === 0 && message.role !== row.role && isQuestion(message.text)
    spread(strengthsOf(message), isAnswer ? ANSWER : (DECAY[distance] ?? 0))
  }
  for (const [distance, message] of after.entries()) spread(strengthsOf(message), DECAY[distance] ?? 0)
  if (sum(best) > 0) spread(farStrengths(matches, row.id), FAR.factor)
  return sum(best)
}

/** The words in the messages stored before and after. Those of another session may be among them, which hardly matters. */
function farStrengths(matches: WordMatches, id: number): readonly number[] {
  let [own, synonyms] = [0, 0]
  for (let other = id - FAR.ids; other <= id + FAR.ids; other += 1) {
    own |= matches.own.get(other) ?? 0
    synonyms |= matches.synonyms.get(other) ?? 0
  }
  return weightsOf(matches, own, synonyms)
}

/** A longer text is not weaker still: in long texts the sentence decides. */
const MAX_LENGTH_RATIO = 3

/** BM25's factor for the length of a text, for a word that occurs once. */
export function lengthFactor(length: number, average: number): number {
  const ratio = Math.min(MAX_LENGTH_RATIO, length / Math.max(1, average))
  return (SATURATION + 1) / (1 + SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * ratio))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
