import { fieldTerm } from "./lexicon.ts"
import type { Lexicon } from "./lexicon.ts"
import { termsOf } from "./terms.ts"

/** One thing a query asks for, in all the ways an entry may say it. */
export interface Concept {
  readonly forms: readonly Form[]
}

export interface Form {
  /** All of them must stand in the entry: one word, or the words of a phrase. */
  readonly terms: readonly string[]
  /** 1: the query's own words; less the further away. */
  readonly quality: number
}

const SYNONYM_QUALITY = 0.7
const FIELD_QUALITY = 0.35
const QUESTION_QUALITY = 0.25

/** A question is short; more than this is a pasted text, whose beginning says what it is about. */
const MAX_CONCEPTS = 24

/** The things a query asks for, each with other words for it and with what it is about. */
export function conceptsOf(query: string, lexicon: Lexicon): readonly Concept[] {
  const terms = termsOf(query)
  const concepts = new Map<string, Concept>()
  for (let at = 0; at < terms.length && concepts.size < MAX_CONCEPTS;) {
    const phrase = lexicon.phraseAt(terms, at)
    const others = lexicon.otherWords(phrase)
    const fields = new Set(phrase.flatMap(lexicon.fieldsOf))
    concepts.set(phrase.join(" "), {
      forms: [
        { terms: phrase, quality: 1 },
        ...others.map((other) => ({ terms: other, quality: SYNONYM_QUALITY })),
        ...[...fields].map((field) => ({ terms: [field], quality: FIELD_QUALITY })),
      ],
    })
    at += phrase.length
  }
  return [...concepts.values(), ...askedFor(query)]
}

/** What kind of answer a question word wants. */
const QUESTION_FIELDS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\bwhere\b/iu, ["place", "residence"]],
  [/\bwhen\b/iu, ["time", "date", "weekday"]],
  [/\bwhy\b/iu, ["reason"]],
  [/\bwho(?:m|se)?\b/iu, ["person", "responsibility"]],
  [/\bhow (?:many|much|often|long|big|wide|far|old|tall|heavy|fast)\b/iu, ["number"]],
]

function askedFor(query: string): readonly Concept[] {
  return QUESTION_FIELDS.flatMap(([words, fields]) =>
    words.test(query)
      ? [{ forms: fields.map((field) => ({ terms: [fieldTerm(field)], quality: QUESTION_QUALITY })) }]
      : [],
  )
}
