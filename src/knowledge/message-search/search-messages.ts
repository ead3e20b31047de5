import type { IndexedWord, MessageScope, MessageWords, SearchableMessage } from "../../protocol/message-words.ts"
import type { Lexicon } from "../semantic-search/lexicon.ts"
import { plainWord } from "../semantic-search/terms.ts"
import { equalsQuery, promptsOfSearches, repeatsQuery } from "./asked-before.ts"
import { proximityWeights } from "./proximity.ts"
import { COMPOUND_BOOST, parseWordQuery } from "./query-words.ts"
import { bestMatches, contextScore, lengthFactor, matchWords, NEIGHBOURS, strengths } from "./rank-messages.ts"
import type { MessageContext, WeighedWord, WordMatches } from "./rank-messages.ts"
import { findWordForms } from "./word-forms.ts"
import type { WordForms } from "./word-forms.ts"

export interface MessageSearch {
  readonly scope: MessageScope
  readonly lexicon: Lexicon
  /** How many messages to return. */
  readonly limit: number
  /** Leaves a message out. */
  readonly isExcluded: (row: SearchableMessage) => boolean
  /** True for a call of the tool that searches: the question before it asks for something that was said elsewhere. */
  readonly isSearchCall: (toolName: string) => boolean
  /** A text as it is shown, without secrets. What is removed from it is not found: a search would reveal it guess by guess. */
  readonly shown: (text: string) => string
  /** Also searches the arguments of tool calls, and returns those of a message. Default: they are not searched. */
  readonly toolCalls?: (id: number) => Promise<string>
  /** Also finds words after an escaped line break in JSON. May find other words: the caller checks the text. Default: false. */
  readonly withEscapes?: boolean
}

export interface RankedMessage {
  readonly row: SearchableMessage
  /** Comparable only between messages of the same search. */
  readonly score: number
  /** Where the words are: in the message itself, only as synonyms, or only in the messages around it. */
  readonly matchedBy: "words" | "meaning" | "context"
}

/**
 * Ranks stored messages by the words of a question: BM25 over stems, where any word is enough, plus the words in the messages around.
 * Reads the word index of the database, so new messages are found at once.
 */
export async function searchMessages(
  query: string,
  source: MessageWords,
  search: MessageSearch,
): Promise<readonly RankedMessage[]> {
  const { words, compounds, asksForTime } = parseWordQuery(query)
  const forms = [...(await findWordForms(words, source, search.lexicon)), ...compounds.map(compoundForms)]
  const matches = matchWords(await weighWords(forms, source, search))
  const queryTerms = new Set(words.map(({ stem }) => stem))
  const { seeds, lines, prompts, calls } = await readSeeds(bestMatches(matches, MAX_READ), { source, search, query })
  const average = seeds.reduce((sum, { text }) => sum + text.length, 0) / Math.max(1, seeds.length)
  const { strengthsOf, kindOf } = rowStrengths(matches, { average, prompts, calls, search })
  const queryWeight = matches.words.reduce((sum, { weight }) => sum + weight, 0)
  const ranked = contextsOf(seeds, lines, search).flatMap((context): readonly RankedMessage[] => {
    const { row } = context
    const score = contextScore(context, matches, (message) => strengthsOf(message, message === row))
    if (score === 0 || repeatsQuery(row.text, query, queryTerms)) return []
    return [{ row, score: score * (prompts.has(row.id) ? PROMPT_FACTOR : 1), matchedBy: kindOf(row) }]
  })
  const best = asksForTime ? withTimeBonus(ranked, TIME_BONUS * queryWeight) : ranked
  return best
    .toSorted((a, b) => b.score - a.score || b.row.timestamp - a.row.timestamp || b.row.id - a.row.id)
    .slice(0, search.limit)
}

/** The index has the parts of an identifier; looking for it as a whole finds them in a row. */
function compoundForms(compound: string): WordForms {
  return { boost: COMPOUND_BOOST, own: [{ word: compound, messages: 1 }], synonyms: [] }
}

/** Raises messages that name a time. Those with less than half of the best score would not catch up. */
function withTimeBonus(ranked: readonly RankedMessage[], bonus: number): readonly RankedMessage[] {
  const best = ranked.reduce((max, { score }) => Math.max(max, score), 0)
  return ranked.map((found) => {
    const isRaised = found.score * 2 >= best && TIME_WORDS.test(found.row.text)
    return isRaised ? { ...found, score: found.score + bonus } : found
  })
}

function matchKind({ own, synonyms }: WordMatches, id: number): RankedMessage["matchedBy"] {
  if (own.has(id)) return "words"
  return synonyms.has(id) ? "meaning" : "context"
}

/** What a message that names a time gains when the query asks for one, relative to the weight of the query. */
const TIME_BONUS = 0.1

/** A message that made the model search asks for something that was said elsewhere. */
const PROMPT_FACTOR = 0.3

const TIME_WORDS =
  /\b(?:yesterday|today|tonight|tomorrow|ago|last|next|week(?:end)?s?|months?|years?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:jan|febr)uary|march|april|june|july|august|(?:septem|octo|novem|decem)ber|recently|just|earlier|\d{4}|\d{1,2}(?:st|nd|rd|th))\b/iu

/**
 * Bound the time of a search: words in more messages are too common to influence the ranking, and so are synonyms in that many
 * messages altogether.
 */
const MAX_MATCHES = 20_000
const MAX_SYNONYM_MATCHES = 5000

async function weighWords(
  forms: readonly WordForms[],
  source: MessageWords,
  { scope, withEscapes }: MessageSearch,
): Promise<readonly WeighedWord[]> {
  const isRare = withinTotal(forms, MAX_MATCHES, ({ own }) => countMessages(own))
  const known = forms.filter((word) => isRare(word) && word.own.length + word.synonyms.length > 0)
  const isRareSynonym = withinTotal(
    known.flatMap(({ synonyms }) => synonyms),
    MAX_SYNONYM_MATCHES,
    ({ messages }) => messages,
  )
  const wordsOf = (words: readonly IndexedWord[]): readonly string[] => words.map(({ word }) => word)
  const lists = await source.messagesWith(
    known.flatMap(({ own, synonyms }) => [
      withEscapes === true ? wordsOf(own).flatMap(escapedForms) : wordsOf(own),
      wordsOf(synonyms.filter(isRareSynonym)),
    ]),
    scope.sessions === undefined ? {} : { sessions: scope.sessions },
  )
  const total = await source.highestId()
  return known.map(({ boost, own: words }, index) => {
    const [own = [], synonyms = []] = lists.slice(index * 2, index * 2 + 2)
    const frequency = own.length === 0 ? synonyms.length : own.length
    const rarity = Math.log(1 + (Math.max(0, total - frequency) + 0.5) / (frequency + 0.5))
    return { weight: frequency === 0 ? 0 : rarity * boost, forms: wordsOf(words), own, synonyms }
  })
}

/** Selects the smallest entries whose sizes add up to at most `limit`, and at least one. */
function withinTotal<T>(entries: readonly T[], limit: number, sizeOf: (entry: T) => number): (entry: T) => boolean {
  let total = 0
  const selected = new Set<T>()
  for (const entry of entries.toSorted((a, b) => sizeOf(a) - sizeOf(b))) {
    total += sizeOf(entry)
    if (selected.size === 0 || total <= limit) selected.add(entry)
  }
  return (entry) => selected.has(entry)
}

function countMessages(words: readonly IndexedWord[]): number {
  return words.reduce((sum, { messages }) => sum + messages, 0)
}

/** In JSON, an escaped line break or tab joins the next word: `one\\nzebrafish` is indexed as "one" and "nzebrafish". */
function escapedForms(word: string): readonly string[] {
  return [word, `n${word}`, `t${word}`]
}

interface Reading {
  readonly source: MessageWords
  readonly search: MessageSearch
  readonly query: string
}

interface Seeds {
  /** Messages with the most words of the query. */
  readonly seeds: readonly SearchableMessage[]
  /** For each of their sessions, the messages around them, in order. */
  readonly lines: readonly (readonly SearchableMessage[])[]
  /** The ids of messages that made the model search. */
  readonly prompts: ReadonlySet<number>
  /** The arguments of tool calls of seeds, where they are searched. */
  readonly calls: ReadonlyMap<number, string>
}

/** Messages that are compared closely, with their neighbours, and how many of them may have made the model search. */
const MAX_SEEDS = 120
const MAX_PROMPTS = 10
const BATCH = 150
const MAX_READ = 3000

/** How many stored messages away a neighbour may be; there are tool calls and results in between. */
export const NEIGHBOUR_DISTANCE = 8

/** Reads the best matches that may be returned, and the messages around them. */
async function readSeeds(ids: readonly number[], { source, search, query }: Reading): Promise<Seeds> {
  const seeds: SearchableMessage[] = []
  const nearby = new Map<number, SearchableMessage>()
  const prompts = new Set<number>()
  let promptSeeds = 0
  for (let start = 0; start < ids.length && seeds.length < MAX_SEEDS; start += BATCH) {
    const rows = await source.inScope(ids.slice(start, start + BATCH), search.scope)
    const found = rows.filter((row) => isResult(row, search) && !equalsQuery(row.text, query))
    const around = await source.around(
      found.map(({ id }) => id),
      NEIGHBOUR_DISTANCE,
    )
    for (const row of [...found, ...around]) nearby.set(row.id, row)
    for (const line of linesOf(around)) for (const id of promptsOfSearches(line, search.isSearchCall)) prompts.add(id)
    for (const row of found) {
      if (prompts.has(row.id)) promptSeeds += 1
      if (seeds.length < MAX_SEEDS && (!prompts.has(row.id) || promptSeeds <= MAX_PROMPTS)) seeds.push(row)
    }
  }
  const sessions = new Set(seeds.map(({ sessionId }) => sessionId))
  const lines = linesOf(
    [...nearby.values()].filter((row) => sessions.has(row.sessionId) && !row.isGenerated && !search.isExcluded(row)),
  )
  return { seeds, lines, prompts, calls: await callsOf(seeds, search) }
}

async function callsOf(
  seeds: readonly SearchableMessage[],
  { toolCalls }: MessageSearch,
): Promise<ReadonlyMap<number, string>> {
  if (toolCalls === undefined) return new Map()
  const calling = seeds.filter(({ calledTools }) => calledTools.length > 0)
  return new Map(await Promise.all(calling.map(async ({ id }) => [id, await toolCalls(id)] as const)))
}

/** The messages of each session, in order. */
function linesOf(rows: readonly SearchableMessage[]): readonly (readonly SearchableMessage[])[] {
  const lines = Map.groupBy(
    rows.toSorted((a, b) => a.id - b.id),
    ({ sessionId }) => sessionId,
  )
  return [...lines.values()]
}

function isResult(row: SearchableMessage, search: MessageSearch): boolean {
  if (row.isGenerated || search.isExcluded(row)) return false
  return row.text.trim() !== "" || search.toolCalls !== undefined
}

/** The seeds and the messages next to them, each with its context. */
function contextsOf(
  seeds: readonly SearchableMessage[],
  lines: readonly (readonly SearchableMessage[])[],
  search: MessageSearch,
): readonly MessageContext[] {
  const isSeed = new Set(seeds.map(({ id }) => id))
  const { roles } = search.scope
  return lines.flatMap((line) => {
    // Calls without text are not part of the conversation.
    const spoken = line.filter((row) => isSeed.has(row.id) || row.text.trim() !== "")
    return spoken.flatMap((row, index) => {
      if (roles !== undefined && !roles.includes(row.role)) return []
      const isNear = (other: SearchableMessage): boolean => Math.abs(other.id - row.id) <= NEIGHBOUR_DISTANCE
      return [
        {
          row,
          before: spoken.slice(Math.max(0, index - NEIGHBOURS), index).filter(isNear),
          after: spoken.slice(index + 1, index + 1 + NEIGHBOURS).filter(isNear),
        },
      ]
    })
  })
}

interface RowStrengths {
  /** The weight of each word in a message. A message that made the model search does not count for its neighbours. */
  readonly strengthsOf: (row: SearchableMessage, isOwn: boolean) => readonly number[]
  readonly kindOf: (row: SearchableMessage) => RankedMessage["matchedBy"]
}

/**
 * The index also contains the arguments of tool calls and what is masked in results, so a message with such parts is matched by the text
 * that counts.
 */
function rowStrengths(
  matches: WordMatches,
  options: Pick<Seeds, "prompts" | "calls"> & { readonly average: number; readonly search: MessageSearch },
): RowStrengths {
  const { average, prompts, calls, search } = options
  const none = matches.words.map(() => 0)
  const forms = matches.words.map((word) => word.forms)
  const known = new Map<number, readonly number[]>()
  const masked = new Set<number>()
  const foundIn = (row: SearchableMessage): readonly number[] => {
    const indexed = strengths(matches, row.id)
    if (indexed.every((strength) => strength === 0)) return indexed
    const called = calls.get(row.id)
    const text = called === undefined ? row.text : `${row.text}\n${called}`
    const shown = search.shown(text)
    if (shown !== text) masked.add(row.id)
    const isIndexed = shown === text && (row.calledTools.length === 0 || called !== undefined)
    return isIndexed ? indexed : textStrengths(matches, shown)
  }
  const compute = (row: SearchableMessage): readonly number[] => {
    const factor = lengthFactor(row.text.length, average)
    return proximityWeights(row.text, foundIn(row), forms).map((strength) => strength * factor)
  }
  const strengthsOf: RowStrengths["strengthsOf"] = (row, isOwn) => {
    if (!isOwn && prompts.has(row.id)) return none
    const strength = known.get(row.id) ?? compute(row)
    known.set(row.id, strength)
    return strength
  }
  return {
    strengthsOf,
    kindOf: (row) => {
      const isOwn = strengthsOf(row, true).some((strength) => strength > 0)
      if (masked.has(row.id)) return isOwn ? "words" : "context"
      return matchKind(matches, row.id)
    },
  }
}

function textStrengths({ words }: WordMatches, text: string): readonly number[] {
  const present = new Set((text.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).map(plainWord))
  return words.map(({ weight, forms }) => (forms.some((form) => present.has(form)) ? weight : 0))
}
