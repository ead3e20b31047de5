import { editDistance } from "../../base/nearest.ts"
import { formsOf } from "./concepts.ts"
import type { Concept, Form } from "./concepts.ts"
import { isFieldTerm, isSlip } from "./lexicon.ts"
import type { Lexicon } from "./lexicon.ts"
import type { RecallIndex, TermUse } from "./recall-index.ts"

type Terms = Pick<RecallIndex, "termUse" | "termsFrom" | "termsAlike">

/**
 * The concepts with only those forms that the index knows. A word that it does not know stands for longer and shorter forms of
 * itself and, when nobody knows it, for the words it may be a misspelling of. Concepts nobody mentions are left out.
 */
export async function withKnownForms(
  concepts: readonly Concept[],
  index: Terms,
  lexicon: Lexicon,
): Promise<{ readonly concepts: readonly Concept[]; readonly use: TermUse }> {
  const use = await index.termUse(concepts.flatMap(({ forms }) => forms.flatMap(({ terms }) => terms)))
  const extended = await Promise.all(
    concepts.map(async ({ word, forms }) => {
      const [own] = forms
      const [term] = own?.terms ?? []
      if (word === undefined || term === undefined || use.uses.has(term)) return { forms }
      const near = await nearForms(term, index)
      const isStrange = near.length === 0 && !lexicon.knows(term)
      return { forms: [...forms, ...near, ...(isStrange ? await misspeltForms({ word, term }, index, lexicon) : [])] }
    }),
  )
  const missing = extended
    .flatMap(({ forms }) => forms.flatMap(({ terms }) => terms))
    .filter((term) => !use.uses.has(term))
  const more = missing.length === 0 ? use : await index.termUse(missing)
  const uses = new Map([...use.uses, ...more.uses])
  const known = extended.map(({ forms }) => ({
    forms: forms.filter(({ terms }) => terms.every((term) => uses.has(term))),
  }))
  return { concepts: known.filter(({ forms }) => forms.length > 0), use: { ...use, uses } }
}

const NEAR_QUALITY = 0.6
const MISSPELT_QUALITY = 0.8
const MIN_SHARED_START = 4
const MAX_LONGER = 6

/** "config" and "configur", "auth" and "authent": one begins with the other. */
async function nearForms(term: string, index: Terms): Promise<readonly Form[]> {
  if (term.length < MIN_SHARED_START || !LETTERS_ONLY.test(term)) return []
  const longer = await index.termsFrom(term, MAX_LONGER)
  const starts = Array.from({ length: Math.ceil(term.length / 2) }, (_, cut) => term.slice(0, term.length - 1 - cut))
  const shorter = await index.termUse(starts.filter(({ length }) => length >= MIN_SHARED_START))
  return [...longer, ...shorter.uses.keys()].map((near) => ({ terms: [near], quality: NEAR_QUALITY }))
}

/** What the word may have been meant to be: a term of the index, or a word whose other forms may be there. */
async function misspeltForms(
  { word, term }: { readonly word: string; readonly term: string },
  index: Terms,
  lexicon: Lexicon,
): Promise<readonly Form[]> {
  if (term.length < MIN_SHARED_START || !LETTERS_ONLY.test(term)) return []
  const alike = (await index.termsAlike(term, MAX_ALIKE)).filter((other) => !isFieldTerm(other))
  const meant = alike.flatMap((other) => {
    if (isSlip(other, term)) return [{ terms: [other], quality: MISSPELT_QUALITY }]
    const isFar = term.length < LONG_WORD || Math.abs(other.length - term.length) > 2 || editDistance(other, term) > 2
    return isFar ? [] : [{ terms: [other], quality: MISSPELT_QUALITY / 2 }]
  })
  const known = lexicon.respelt(word).flatMap((respelt) => formsOf([respelt], lexicon))
  return [...meant, ...known.map(({ terms, quality }) => ({ terms, quality: quality * MISSPELT_QUALITY }))]
}

const LETTERS_ONLY = /^\p{L}+$/u
const LONG_WORD = 6
const MAX_ALIKE = 40
