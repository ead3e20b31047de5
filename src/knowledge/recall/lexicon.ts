import { fingerprint } from "../../base/random-and-hash.ts"
import { SYNONYM_GROUPS } from "./synonym-groups.ts"
import { termsOf } from "./terms.ts"
import { WORD_FIELDS } from "./word-fields.ts"

/** What is known about words: which mean the same, and what they are about. */
export interface Lexicon {
  /** The longest known phrase that begins here; the single term when there is none. */
  phraseAt(terms: readonly string[], at: number): readonly string[]
  /** Other ways to say it. */
  otherWords(phrase: readonly string[]): readonly (readonly string[])[]
  /** What a term is about, as terms of the index. */
  fieldsOf(term: string): readonly string[]
  /** Everything a text is found by: its words and what they are about. */
  indexTerms(text: string): readonly string[]
  /** Another one means that terms were made in another way and the index must be made again. */
  readonly version: string
}

const MAX_PHRASE = 3

/** No word begins with this letter, so a field is never taken for a word. */
const FIELD_MARK = "ǂ"

export function createLexicon(): Lexicon {
  const others = synonyms()
  const fields = wordFields()
  const fieldsOf = (term: string): readonly string[] => fields.get(term) ?? []
  return {
    phraseAt: (terms, at) => {
      for (let length = MAX_PHRASE; length > 1; length -= 1) {
        const phrase = terms.slice(at, at + length)
        if (phrase.length === length && others.has(phrase.join(" "))) return phrase
      }
      return terms.slice(at, at + 1)
    },
    otherWords: (phrase) => [...(others.get(phrase.join(" "))?.values() ?? [])],
    fieldsOf,
    indexTerms: (text) => {
      const terms = termsOf(text)
      const about = new Set(terms.flatMap((term) => (/^\d/u.test(term) ? [fieldTerm("number")] : fieldsOf(term))))
      return [...terms, ...about]
    },
    version: fingerprint(`${SYNONYM_GROUPS.join("\n")}${JSON.stringify(WORD_FIELDS)}`),
  }
}

/** The term that stands for a field. */
export function fieldTerm(field: string): string {
  return `${FIELD_MARK}${field}`
}

export function isFieldTerm(term: string): boolean {
  return term.startsWith(FIELD_MARK)
}

function synonyms(): ReadonlyMap<string, ReadonlyMap<string, readonly string[]>> {
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

function wordFields(): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>()
  for (const [field, words] of Object.entries(WORD_FIELDS)) {
    for (const term of new Set(termsOf(words))) {
      const known = fields.get(term)
      if (known === undefined) fields.set(term, [fieldTerm(field)])
      else known.push(fieldTerm(field))
    }
  }
  return fields
}
