import { editDistance } from "../../base/nearest-name.ts"
import { formsOf } from "./concepts.ts"
import type { Concept, Form } from "./concepts.ts"
import { isFieldTerm, isTypo } from "./lexicon.ts"
import type { Lexicon } from "./lexicon.ts"
import type { SemanticIndex, TermStatistics } from "../../protocol/semantic-index.ts"

type Terms = Pick<SemanticIndex, "termStatistics" | "termsWithPrefix" | "similarTerms">

/**
 * Reduces concepts to the forms that occur in the index. A word that does not occur is expanded to its longer and shorter forms and,
 * when the lexicon does not know it either, to its likely spelling corrections. Drops concepts without any indexed form.
 */
export async function resolveConcepts(
  concepts: readonly Concept[],
  index: Terms,
  lexicon: Lexicon,
): Promise<{ readonly concepts: readonly Concept[]; readonly statistics: TermStatistics }> {
  const statistics = await index.termStatistics(concepts.flatMap(({ forms }) => forms.flatMap(({ terms }) => terms)))
  const extended = await Promise.all(
    concepts.map(async ({ word, forms }) => {
      const [own] = forms
      const [term] = own?.terms ?? []
      if (word === undefined || term === undefined || statistics.documentFrequency.has(term)) return { forms }
      const near = await nearForms(term, index)
      const isUnknown = near.length === 0 && !lexicon.knows(term)
      return { forms: [...forms, ...near, ...(isUnknown ? await correctedForms({ word, term }, index, lexicon) : [])] }
    }),
  )
  const missing = extended
    .flatMap(({ forms }) => forms.flatMap(({ terms }) => terms))
    .filter((term) => !statistics.documentFrequency.has(term))
  const more = missing.length === 0 ? statistics : await index.termStatistics(missing)
  const documentFrequency = new Map([...statistics.documentFrequency, ...more.documentFrequency])
  const known = extended.map(({ forms }) => ({
    forms: forms.filter(({ terms }) => terms.every((term) => documentFrequency.has(term))),
  }))
  return { concepts: known.filter(({ forms }) => forms.length > 0), statistics: { ...statistics, documentFrequency } }
}

const NEAR_QUALITY = 0.6
const CORRECTED_QUALITY = 0.8
const MIN_SHARED_START = 4
const MAX_LONGER = 6

/** "config" and "configur", "auth" and "authent": one begins with the other. */
async function nearForms(term: string, index: Terms): Promise<readonly Form[]> {
  if (term.length < MIN_SHARED_START || !LETTERS_ONLY.test(term)) return []
  const longer = await index.termsWithPrefix(term, MAX_LONGER)
  const starts = Array.from({ length: Math.ceil(term.length / 2) }, (_, cut) => term.slice(0, term.length - 1 - cut))
  const shorter = await index.termStatistics(starts.filter(({ length }) => length >= MIN_SHARED_START))
  return [...longer, ...shorter.documentFrequency.keys()].map((near) => ({ terms: [near], quality: NEAR_QUALITY }))
}

/** Returns likely spelling corrections: similar terms of the index, and similar lexicon words with their synonyms. */
async function correctedForms(
  { word, term }: { readonly word: string; readonly term: string },
  index: Terms,
  lexicon: Lexicon,
): Promise<readonly Form[]> {
  if (term.length < MIN_SHARED_START || !LETTERS_ONLY.test(term)) return []
  const similar = (await index.similarTerms(term, MAX_SIMILAR)).filter((other) => !isFieldTerm(other))
  const indexed = similar.flatMap((other) => {
    if (isTypo(other, term)) return [{ terms: [other], quality: CORRECTED_QUALITY }]
    const isTooDifferent =
      term.length < LONG_WORD || Math.abs(other.length - term.length) > 2 || editDistance(other, term) > 2
    return isTooDifferent ? [] : [{ terms: [other], quality: CORRECTED_QUALITY / 2 }]
  })
  const known = lexicon.spellingCorrections(word).flatMap((corrected) => formsOf([corrected], lexicon))
  return [...indexed, ...known.map(({ terms, quality }) => ({ terms, quality: quality * CORRECTED_QUALITY }))]
}

const LETTERS_ONLY = /^\p{L}+$/u
const LONG_WORD = 6
const MAX_SIMILAR = 40
