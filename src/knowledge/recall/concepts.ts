import { fieldTerm } from "./lexicon.ts"
import type { Lexicon } from "./lexicon.ts"
import { wordsOf } from "./terms.ts"

/** One thing a query asks for, in all the ways an entry may say it. */
export interface Concept {
  /** As it was written, when it is one word. */
  readonly word?: string
  readonly forms: readonly Form[]
}

export interface Form {
  /** All of them must stand in the entry: one word, or the words of a phrase. */
  readonly terms: readonly string[]
  /** 1: the query's own words; less the further away. */
  readonly quality: number
}

const QUALITY = { own: 1, synonym: 0.7, field: 0.5, synonymField: 0.3, fieldGroup: 0.15, question: 0.25 }

/** A question is short; more than this is a pasted text, whose beginning says what it is about. */
const MAX_CONCEPTS = 24

/** The things a query asks for, each with other words for it and with what it is about. */
export function conceptsOf(query: string, lexicon: Lexicon): readonly Concept[] {
  const words = wordsOf(query.replaceAll(HOW_QUESTION, " "))
  const terms = words.map(({ term }) => term)
  const concepts = new Map<string, Concept>()
  for (let at = 0; at < terms.length && concepts.size < MAX_CONCEPTS;) {
    const phrase = lexicon.phraseAt(terms, at)
    const word = phrase.length === 1 ? words[at]?.word : undefined
    concepts.set(phrase.join(" "), { ...(word !== undefined && { word }), forms: formsOf(phrase, lexicon) })
    at += phrase.length
  }
  return [...concepts.values(), ...askedFor(query)]
}

/** All ways to say one thing, each once, at the best quality it has. */
export function formsOf(phrase: readonly string[], lexicon: Lexicon): readonly Form[] {
  const others = lexicon.otherWords(phrase)
  const fields = phrase.flatMap((term) => lexicon.fieldsOf(term))
  const otherFields = others.flat().flatMap((term) => lexicon.fieldsOf(term))
  const single = (terms: readonly string[], quality: number): readonly Form[] =>
    terms.map((term) => ({ terms: [term], quality }))
  const forms = [
    { terms: phrase, quality: QUALITY.own },
    ...others.map((terms) => ({ terms, quality: QUALITY.synonym })),
    ...single(fields, QUALITY.field),
    ...single(otherFields, QUALITY.synonymField),
    ...single(lexicon.fieldGroupsOf(fields), QUALITY.fieldGroup),
  ]
  const seen = new Set<string>()
  return forms.filter(({ terms }) => {
    const key = terms.join(" ")
    return seen.has(key) ? false : seen.add(key)
  })
}

const HOW_QUESTION = /\bhow (?:many|much|often|long|big|wide|far|old|tall|heavy|fast)\b/giu

/** What kind of answer a question word wants. */
const QUESTION_FIELDS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\bwhere\b/iu, ["place", "residence"]],
  [/\bwhen\b/iu, ["time", "date", "weekday"]],
  [/\bwhy\b/iu, ["reason"]],
  [/\bwho(?:m|se)?\b/iu, ["person", "responsibility"]],
  [/\bhow (?:many|much|often|big|wide|far|old|tall|heavy|fast)\b/iu, ["number"]],
  [/\bhow (?:long|often)\b/iu, ["duration", "frequency", "number"]],
]

function askedFor(query: string): readonly Concept[] {
  return QUESTION_FIELDS.flatMap(([words, fields]) =>
    words.test(query)
      ? [{ forms: fields.map((field) => ({ terms: [fieldTerm(field)], quality: QUALITY.question })) }]
      : [],
  )
}
