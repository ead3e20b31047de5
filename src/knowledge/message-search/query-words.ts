import { isStopWord, plainWord, stemOf, tokenize } from "../semantic-search/terms.ts"

/** A word of the query. */
export interface QueryWord {
  readonly plain: string
  readonly stem: string
  /** How much it counts beside its rarity. */
  readonly boost: number
}

export interface WordQuery {
  readonly words: readonly QueryWord[]
  /** Identifiers such as `billing-2`, `auth.ts` or `read_file`, whose parts alone say little. */
  readonly compounds: readonly string[]
  readonly asksForTime: boolean
}

const BOOST = { name: 1.3, number: 1.2, other: 1 }

/** A longer query is pasted text, and its beginning is enough. */
const MAX_WORDS = 24

/** How much an identifier counts beside its rarity. */
export const COMPOUND_BOOST = 1.5

const MAX_COMPOUNDS = 6

const COMPOUND = /[\p{L}\p{N}\p{M}]+(?:[-._/@:][\p{L}\p{N}\p{M}]+)+/gu

const WORD_RUN = /[\p{L}\p{N}\p{M}]+/gu

/** Splits a question into the words to look for. A capitalised word inside a sentence is a name, also when it looks like a stop word. */
export function parseWordQuery(query: string): WordQuery {
  const words = new Map<string, QueryWord>()
  const add = (plain: string, stem: string, boost: number): void => {
    const known = words.get(stem)
    if (words.size < MAX_WORDS && (known === undefined || known.boost < boost)) words.set(stem, { plain, stem, boost })
  }
  for (const { 0: run, index } of query.matchAll(WORD_RUN)) {
    const isName = /^\p{Lu}\p{Ll}/u.test(run) && !/(?:^|[.?!:]\s*)$/u.test(query.slice(0, index))
    const plain = plainWord(run)
    if (isName && isStopWord(plain) && !QUESTION_WORDS.test(plain)) add(plain, stemOf(plain), BOOST.other)
    for (const { word, term } of tokenize(run)) {
      add(word, term, /^\d/u.test(word) ? BOOST.number : isName ? BOOST.name : BOOST.other)
    }
  }
  const compounds = new Set((query.match(COMPOUND) ?? []).map((found) => found.toLowerCase()))
  return {
    words: [...words.values()].slice(0, MAX_WORDS - Math.min(compounds.size, MAX_COMPOUNDS)),
    compounds: [...compounds].slice(0, MAX_COMPOUNDS),
    asksForTime: ASKS_FOR_TIME.test(query),
  }
}

/** A title in capitals has capitalised question words too. */
const QUESTION_WORDS =
  /^(?:wh|how|did|does|do|is|are|was|were|has|have|had|can|could|i|the|a|an|and|of|in|on|at|to|for)/u

const ASKS_FOR_TIME = /\b(?:when|what (?:date|day|month|year|time)|which (?:date|day|month|year)|how long ago)\b/iu
