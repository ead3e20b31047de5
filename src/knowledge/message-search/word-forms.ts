import type { IndexedWord, MessageWords, WordRange } from "../../protocol/message-words.ts"
import { isTypo } from "../semantic-search/lexicon.ts"
import type { Lexicon } from "../semantic-search/lexicon.ts"
import { irregularFormsOf, plainWord, stemOf } from "../semantic-search/terms.ts"
import type { QueryWord } from "./query-words.ts"

/** The forms in which the stored messages contain a word of the query. */
export interface WordForms {
  readonly boost: number
  /** Forms with the same stem or, when there are none, the likely corrections. */
  readonly own: readonly IndexedWord[]
  readonly synonyms: readonly IndexedWord[]
}

const MAX_RANGE = 1000
const MAX_CORRECTIONS_RANGE = 4000
const MIN_CORRECTED = 5
const MAX_LONGER = 6

/** Finds the forms of each word in the vocabulary of the index, which has unstemmed words. */
export async function findWordForms(
  words: readonly QueryWord[],
  source: MessageWords,
  lexicon: Lexicon,
): Promise<readonly WordForms[]> {
  const synonyms = words.map(({ stem }) =>
    lexicon.synonymsOf([stem]).flatMap((terms) => (terms.length === 1 && terms[0] !== undefined ? [terms[0]] : [])),
  )
  const forms = await formsByStem([...new Set([...words.map(({ stem }) => stem), ...synonyms.flat()])], source)
  return await Promise.all(
    words.map(async ({ plain, stem, boost }, index) => ({
      boost,
      own: forms.get(stem) ?? (await corrections({ plain, stem }, source)),
      synonyms: (synonyms[index] ?? []).flatMap((synonym) => forms.get(synonym) ?? []),
    })),
  )
}

async function formsByStem(
  stems: readonly string[],
  source: MessageWords,
): Promise<ReadonlyMap<string, readonly IndexedWord[]>> {
  const found = await source.between([
    ...stems.map((stem) => prefixRange(commonPrefix(stem), MAX_RANGE)),
    ...stems.flatMap(irregularFormsOf).map((form) => ({ first: form, end: `${form}\u0001`, limit: 1 })),
  ])
  const words = new Map(found.flat().map((entry) => [entry.word, entry]))
  return Map.groupBy(words.values(), ({ word }) => stemOf(plainWord(word)))
}

/** The letters that all forms of a stem have in common: "happi" comes from "happy" and "hope" from "hoping". */
function commonPrefix(stem: string): string {
  return stem.length > 3 ? stem.replace(/[ei]$/u, "") : stem
}

function prefixRange(prefix: string, limit: number): WordRange {
  return { first: prefix, end: `${prefix}\u{10FFFF}`, limit }
}

/** "config" finds "configuration"; "zebrafihs" finds "zebrafish". */
async function corrections(
  { plain, stem }: { readonly plain: string; readonly stem: string },
  source: MessageWords,
): Promise<readonly IndexedWord[]> {
  if (!/^\p{L}{4,}$/u.test(plain)) return []
  const [longer = [], similar = []] = await source.between([
    prefixRange(stem, MAX_LONGER),
    prefixRange(plain.slice(0, 2), MAX_CORRECTIONS_RANGE),
  ])
  if (longer.length > 0) return longer
  return plain.length < MIN_CORRECTED ? [] : similar.filter(({ word }) => isTypo(word, plain))
}
