import { editDistance } from "../../base/nearest.ts"
import type { Concept, Form } from "./concepts.ts"
import { isFieldTerm } from "./lexicon.ts"
import type { RecallIndex, TermUse } from "./recall-index.ts"

/**
 * The concepts with only those forms that the index knows. A word that it does not know stands for longer and shorter forms of
 * itself and, when there are none either, for the known words it may be a misspelling of. Concepts nobody mentions are left out.
 */
export async function withKnownForms(
  concepts: readonly Concept[],
  index: Pick<RecallIndex, "termUse" | "termsFrom" | "termsAlike">,
): Promise<{ readonly concepts: readonly Concept[]; readonly use: TermUse }> {
  const unknown = new Map<Concept, readonly Form[]>()
  const use = await index.termUse(concepts.flatMap(({ forms }) => forms.flatMap(({ terms }) => terms)))
  const isKnown = ({ terms }: Form): boolean => terms.every((term) => use.uses.has(term))
  for (const concept of concepts) {
    const [own] = concept.forms
    const [word] = own?.terms ?? []
    if (own === undefined || word === undefined || own.terms.length > 1 || isKnown(own)) continue
    const near = await nearForms(word, index)
    const found = near.length > 0 || concept.forms.some((form) => isKnown(form) && !form.terms.some(isFieldTerm))
    unknown.set(concept, found ? near : await misspeltForms(word, index))
  }
  const added = [...unknown.values()].flat().flatMap(({ terms }) => terms)
  const more = added.length === 0 ? use : await index.termUse(added)
  const uses = new Map([...use.uses, ...more.uses])
  const complete = concepts.map(({ forms }, at) => {
    const concept = concepts[at]
    const extra = concept === undefined ? [] : (unknown.get(concept) ?? [])
    return { forms: [...forms, ...extra].filter(({ terms }) => terms.every((term) => uses.has(term))) }
  })
  return { concepts: complete.filter(({ forms }) => forms.length > 0), use: { ...use, uses } }
}

const NEAR_QUALITY = 0.6
const MISSPELT_QUALITY = 0.8
const MIN_SHARED_START = 4
const MAX_LONGER = 6

/** "config" and "configur", "auth" and "authent": one begins with the other. */
async function nearForms(term: string, index: Pick<RecallIndex, "termUse" | "termsFrom">): Promise<readonly Form[]> {
  if (term.length < MIN_SHARED_START || !LETTERS_ONLY.test(term)) return []
  const longer = await index.termsFrom(term, MAX_LONGER)
  const starts = Array.from({ length: Math.ceil(term.length / 2) }, (_, cut) => term.slice(0, term.length - 1 - cut))
  const shorter = await index.termUse(starts.filter(({ length }) => length >= MIN_SHARED_START))
  return [...longer, ...shorter.uses.keys()].map((near) => ({ terms: [near], quality: NEAR_QUALITY }))
}

async function misspeltForms(term: string, index: Pick<RecallIndex, "termsAlike">): Promise<readonly Form[]> {
  if (term.length < MIN_SHARED_START || !LETTERS_ONLY.test(term)) return []
  const maxSlips = term.length < LONG_WORD ? 1 : 2
  return (await index.termsAlike(term, MAX_ALIKE)).flatMap((other) => {
    if (isFieldTerm(other) || Math.abs(other.length - term.length) > maxSlips) return []
    const slips = isSwapped(other, term) ? 1 : editDistance(other, term)
    return slips <= maxSlips ? [{ terms: [other], quality: MISSPELT_QUALITY / slips }] : []
  })
}

/** Two letters beside each other have changed places: the commonest slip of all. */
function isSwapped(a: string, b: string): boolean {
  const at = [...a].findIndex((letter, place) => letter !== b[place])
  if (at === -1 || a.length !== b.length) return false
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2)
}

const LETTERS_ONLY = /^\p{L}+$/u
const LONG_WORD = 6
const MAX_ALIKE = 40
