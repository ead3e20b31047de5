import { editDistance } from "../../base/nearest.ts"
import { fingerprint } from "../../base/random-and-hash.ts"
import { SYNONYM_GROUPS } from "./synonym-groups.ts"
import { termsOf, wordsOf } from "./terms.ts"
import type { Word } from "./terms.ts"
import { FIELD_GROUPS, WORD_FIELDS } from "./word-fields.ts"

/** What is known about words: which mean the same, and what they are about. */
export interface Lexicon {
  /** The longest known phrase that begins here; the single term when there is none. */
  phraseAt(terms: readonly string[], at: number): readonly string[]
  /** Other ways to say it. */
  otherWords(phrase: readonly string[]): readonly (readonly string[])[]
  /** What a term is about, as terms of the index. */
  fieldsOf(term: string): readonly string[]
  /** What those fields belong to. */
  fieldGroupsOf(fields: readonly string[]): readonly string[]
  knows(term: string): boolean
  /** The terms of known words that this one may be a misspelling of. */
  respelt(word: string): readonly string[]
  /** Everything a text is found by: its words and what they are about, sentence by sentence with a mark between. */
  indexTerms(text: string): readonly string[]
  /** Another one means that terms were made in another way and the index must be made again. */
  readonly version: string
}

const MAX_PHRASE = 3

/** Stands between the terms of two sentences: what is said together belongs together. The index itself skips it. */
export const SENTENCE_MARK = "."
const SENTENCE_END = /(?<=[.!?…。！？])\s+|\n+|(?<=[。！？])/u

/** Moves with every change to stems, stop words or the splitting of words. */
const TERMS_VERSION = 1

/** No word begins with this letter, so a field is never taken for a word. */
const FIELD_MARK = "ǂ"

export function createLexicon(): Lexicon {
  const others = synonyms()
  const fields = fieldsByMember(WORD_FIELDS, termsOf)
  const groups = fieldsByMember(FIELD_GROUPS, (names) => names.split(" ").map(fieldTerm))
  const fieldsOf = (term: string): readonly string[] => fields.get(term) ?? []
  const fieldGroupsOf = (given: readonly string[]): readonly string[] => [
    ...new Set(given.flatMap((field) => groups.get(field) ?? [])),
  ]
  let spelling: ReadonlyMap<string, readonly Word[]> | undefined
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
    fieldGroupsOf,
    knows: (term) => others.has(term) || fields.has(term),
    respelt: (word) => {
      spelling ??= spellings()
      const alike = new Set(shortened(word).flatMap((form) => spelling?.get(form) ?? []))
      return [...new Set([...alike].filter((known) => isSlip(known.word, word)).map(({ term }) => term))]
    },
    indexTerms: (text) => {
      const found: string[] = []
      for (const sentence of text.split(SENTENCE_END)) {
        const terms = termsOf(sentence)
        if (terms.length === 0) continue
        const about = new Set(terms.flatMap((term) => (/^\d/u.test(term) ? [fieldTerm("number")] : fieldsOf(term))))
        if (found.length > 0) found.push(SENTENCE_MARK)
        found.push(...terms, ...about, ...fieldGroupsOf([...about]))
      }
      return found
    },
    version: fingerprint(`${TERMS_VERSION}${SYNONYM_GROUPS.join("\n")}${JSON.stringify([WORD_FIELDS, FIELD_GROUPS])}`),
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

/** A table of fields turned round: for each member the fields it is in. */
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

const MIN_RESPELT = 5

/** Every known word under itself with one letter left out: words that share such a form are one slip apart, or two. */
function spellings(): ReadonlyMap<string, readonly Word[]> {
  const forms = new Map<string, Word[]>()
  const known = new Map(
    wordsOf([...SYNONYM_GROUPS, ...Object.values(WORD_FIELDS)].join(" ")).map((word) => [word.word, word]),
  )
  for (const word of known.values()) {
    for (const form of shortened(word.word)) {
      const words = forms.get(form)
      if (words === undefined) forms.set(form, [word])
      else words.push(word)
    }
  }
  return forms
}

function shortened(word: string): readonly string[] {
  if (word.length < MIN_RESPELT) return []
  return [word, ...Array.from(word, (_letter, at) => word.slice(0, at) + word.slice(at + 1))]
}

/** One letter too many, too few or wrong, or two beside each other that have changed places. */
export function isSlip(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false
  return isSwapped(a, b) || editDistance(a, b) === 1
}

function isSwapped(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2)
}
