import { fieldTerm } from "./lexicon.ts"
import type { Lexicon } from "./lexicon.ts"
import { tokenize } from "./terms.ts"

/** One thing the query is about, in all the forms a text may express it. */
export interface Concept {
  /** The word of the query, unless it is a phrase. */
  readonly word?: string
  readonly forms: readonly Form[]
}

export interface Form {
  /** One term, or the terms of a phrase. A text must contain all of them. */
  readonly terms: readonly string[]
  /** 1 for the words of the query, less for related words. */
  readonly quality: number
}

const QUALITY = { own: 1, synonym: 0.7, field: 0.5, synonymField: 0.3, fieldGroup: 0.15, question: 0.25 }

/** A longer query is pasted text, and its beginning is enough. */
const MAX_CONCEPTS = 24

/** Splits a query into concepts and expands each with its synonyms and semantic fields. */
export function parseConcepts(query: string, lexicon: Lexicon): readonly Concept[] {
  const words = tokenize(query.replaceAll(HOW_QUESTION, " "))
  const terms = words.map(({ term }) => term)
  const concepts = new Map<string, Concept>()
  for (let index = 0; index < terms.length && concepts.size < MAX_CONCEPTS;) {
    const phrase = lexicon.phraseAt(terms, index)
    const word = phrase.length === 1 ? words[index]?.word : undefined
    concepts.set(phrase.join(" "), { ...(word !== undefined && { word }), forms: formsOf(phrase, lexicon) })
    index += phrase.length
  }
  return [...concepts.values(), ...questionConcepts(query)]
}

/** All forms of a phrase, without duplicates, each with its highest quality. */
export function formsOf(phrase: readonly string[], lexicon: Lexicon): readonly Form[] {
  const synonyms = lexicon.synonymsOf(phrase)
  const fields = phrase.flatMap((term) => lexicon.fieldsOf(term))
  const synonymFields = synonyms.flat().flatMap((term) => lexicon.fieldsOf(term))
  const single = (terms: readonly string[], quality: number): readonly Form[] =>
    terms.map((term) => ({ terms: [term], quality }))
  const forms = [
    { terms: phrase, quality: QUALITY.own },
    ...synonyms.map((terms) => ({ terms, quality: QUALITY.synonym })),
    ...single(fields, QUALITY.field),
    ...single(synonymFields, QUALITY.synonymField),
    ...single(lexicon.fieldGroupsOf(fields), QUALITY.fieldGroup),
  ]
  const seen = new Set<string>()
  return forms.filter(({ terms }) => {
    const key = terms.join(" ")
    return seen.has(key) ? false : seen.add(key)
  })
}

const HOW_QUESTION = /\bhow (?:many|much|often|long|big|wide|far|old|tall|heavy|fast)\b/giu

/** The semantic fields that each question word asks about. */
const QUESTION_FIELDS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\bwhere\b/iu, ["place", "residence"]],
  [/\bwhen\b/iu, ["time", "date", "weekday"]],
  [/\bwhy\b/iu, ["reason"]],
  [/\bwho(?:m|se)?\b/iu, ["person", "responsibility"]],
  [/\bhow (?:many|much|often|big|wide|far|old|tall|heavy|fast)\b/iu, ["number"]],
  [/\bhow (?:long|often)\b/iu, ["duration", "frequency", "number"]],
]

function questionConcepts(query: string): readonly Concept[] {
  return QUESTION_FIELDS.flatMap(([words, fields]) =>
    words.test(query)
      ? [{ forms: fields.map((field) => ({ terms: [fieldTerm(field)], quality: QUALITY.question })) }]
      : [],
  )
}
