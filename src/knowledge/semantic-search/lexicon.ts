import { lazy } from "../../base/lazy.ts"
import { editDistance } from "../../base/nearest-name.ts"
import { fingerprint } from "../../base/random-and-hash.ts"
import { SYNONYM_GROUPS } from "./synonym-groups.ts"
import { termsOf, tokenize } from "./terms.ts"
import type { Token } from "./terms.ts"
import { FIELD_GROUPS, SEMANTIC_FIELDS } from "./semantic-fields.ts"

/** Knowledge about words: their synonyms, and the semantic fields they belong to. */
export interface Lexicon {
  /** The longest known phrase that starts at `index`, or the single term there. */
  phraseAt(terms: readonly string[], index: number): readonly string[]
  synonymsOf(phrase: readonly string[]): readonly (readonly string[])[]
  /** The semantic fields of a term, as index terms. */
  fieldsOf(term: string): readonly string[]
  /** The groups that contain the fields, as index terms. */
  fieldGroupsOf(fields: readonly string[]): readonly string[]
  knows(term: string): boolean
  /** The terms of the lexicon words that this one may be a misspelling of. */
  spellingCorrections(word: string): readonly string[]
  /** The terms and semantic fields of a text, sentence by sentence with `SENTENCE_SEPARATOR` between them. */
  indexTerms(text: string): readonly string[]
  /** Changes whenever the same text yields other terms, so that the index must be rebuilt. */
  readonly version: string
}

const MAX_PHRASE = 3

/** Separates the sentences of a text: ranking prefers texts with the query words in one sentence. The index ignores it. */
export const SENTENCE_SEPARATOR = "."
const SENTENCE_END = /(?<=[.!?…。！？])\s+|\n+|(?<=[。！？])/u

/** Increase with every change to stemming, stop words or tokenization. */
const TERMS_VERSION = 2

/** No word starts with this letter, so a field never looks like a word. */
const FIELD_PREFIX = "ǂ"

export function createLexicon(): Lexicon {
  const synonyms = synonymTable()
  const fieldTable = fieldsByMember(SEMANTIC_FIELDS, termsOf)
  const groups = fieldsByMember(FIELD_GROUPS, (names) => names.split(" ").map(fieldTerm))
  const fieldsOf = (term: string): readonly string[] => fieldTable.get(term) ?? []
  const fieldGroupsOf = (fields: readonly string[]): readonly string[] => [
    ...new Set(fields.flatMap((field) => groups.get(field) ?? [])),
  ]
  const spellings = lazy(spellingTable)
  return {
    phraseAt: (terms, index) => {
      for (let length = MAX_PHRASE; length > 1; length -= 1) {
        const phrase = terms.slice(index, index + length)
        if (phrase.length === length && synonyms.has(phrase.join(" "))) return phrase
      }
      return terms.slice(index, index + 1)
    },
    synonymsOf: (phrase) => [...(synonyms.get(phrase.join(" "))?.values() ?? [])],
    fieldsOf,
    fieldGroupsOf,
    knows: (term) => synonyms.has(term) || fieldTable.has(term),
    spellingCorrections: (word) => {
      const similar = new Set(deletions(word).flatMap((form) => spellings().get(form) ?? []))
      return [...new Set([...similar].filter((known) => isTypo(known.word, word)).map(({ term }) => term))]
    },
    indexTerms: (text) => {
      const found: string[] = []
      for (const sentence of text.split(SENTENCE_END)) {
        const terms = termsOf(sentence)
        if (terms.length === 0) continue
        const fields = new Set(terms.flatMap((term) => (/^\d/u.test(term) ? [fieldTerm("number")] : fieldsOf(term))))
        if (found.length > 0) found.push(SENTENCE_SEPARATOR)
        found.push(...terms, ...fields, ...fieldGroupsOf([...fields]))
      }
      return found
    },
    version: fingerprint(
      `${TERMS_VERSION}${SYNONYM_GROUPS.join("\n")}${JSON.stringify([SEMANTIC_FIELDS, FIELD_GROUPS])}`,
    ),
  }
}

/** The index term of a field. */
export function fieldTerm(field: string): string {
  return `${FIELD_PREFIX}${field}`
}

export function isFieldTerm(term: string): boolean {
  return term.startsWith(FIELD_PREFIX)
}

function synonymTable(): ReadonlyMap<string, ReadonlyMap<string, readonly string[]>> {
  const others = new Map<string, Map<string, readonly string[]>>()
  for (const group of SYNONYM_GROUPS) {
    const phrases = group.split(",").map(termsOf)
    for (const phrase of phrases) {
      const known = others.get(phrase.join(" ")) ?? new Map<string, readonly string[]>()
      others.set(phrase.join(" "), known)
      for (const other of phrases) if (other.join(" ") !== phrase.join(" ")) known.set(other.join(" "), other)
    }
  }
  return others
}

/** Inverts a table of fields: maps each member to the fields that contain it. */
function fieldsByMember(
  table: Readonly<Record<string, string>>,
  membersOf: (words: string) => readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>()
  for (const [field, words] of Object.entries(table)) {
    for (const member of new Set(membersOf(words))) {
      const known = fields.get(member)
      if (known === undefined) fields.set(member, [fieldTerm(field)])
      else known.push(fieldTerm(field))
    }
  }
  return fields
}

const MIN_CORRECTED_LENGTH = 5

/** Maps each lexicon word, and each of its deletions, to the words it comes from. Words that share a form are similar. */
function spellingTable(): ReadonlyMap<string, readonly Token[]> {
  const forms = new Map<string, Token[]>()
  const known = new Map(
    tokenize([...SYNONYM_GROUPS, ...Object.values(SEMANTIC_FIELDS)].join(" ")).map((word) => [word.word, word]),
  )
  for (const word of known.values()) {
    for (const form of deletions(word.word)) {
      const words = forms.get(form)
      if (words === undefined) forms.set(form, [word])
      else words.push(word)
    }
  }
  return forms
}

/** Returns the word itself and every form of it with one letter removed. */
function deletions(word: string): readonly string[] {
  if (word.length < MIN_CORRECTED_LENGTH) return []
  return [word, ...Array.from(word, (_letter, index) => word.slice(0, index) + word.slice(index + 1))]
}

/** True when the words differ by one inserted, deleted or replaced letter, or by two adjacent letters swapped. */
export function isTypo(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false
  return isSwapped(a, b) || editDistance(a, b) === 1
}

function isSwapped(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  let index = 0
  while (index < a.length && a[index] === b[index]) index += 1
  return a[index] === b[index + 1] && a[index + 1] === b[index] && a.slice(index + 2) === b.slice(index + 2)
}
