import { chunksOf } from "./chunks.ts"
import { conceptsOf } from "./concepts.ts"
import type { Lexicon } from "./lexicon.ts"
import { withKnownForms } from "./known-forms.ts"
import { keywordScores } from "./ranking.ts"
import type { FoundChunk, RecallIndex, TermUse } from "./recall-index.ts"

/** A passage of one of the texts, with its place in it. */
export interface Passage {
  /** Position of the text in the list. */
  readonly text: number
  /** UTF-16 units from the beginning of the text. */
  readonly start: number
  readonly passage: string
}

/** More than this is not looked at: twenty-odd megabytes. */
const MAX_PASSAGES = 20_000

/**
 * The passages of a few texts that say what the query asks for, best first and at most one for each text; without an index, for
 * texts that are at hand. A passage that holds the query word for word comes before all others.
 */
export async function searchTexts(
  query: string,
  texts: readonly string[],
  lexicon: Lexicon,
): Promise<readonly Passage[]> {
  const passages = texts.flatMap(passagesOf).slice(0, MAX_PASSAGES)
  const chunks = passages.map(({ passage }, id) => asChunk(id, passage, lexicon))
  const { concepts, use } = await withKnownForms(conceptsOf(query, lexicon), termIndex(chunks), lexicon)
  const scores = keywordScores(concepts, chunks, use)
  const literal = query.replaceAll('"', "").trim().toLowerCase()
  const ranked = passages
    .map((passage, at) => {
      const chunk = chunks[at]
      const isLiteral = literal !== "" && passage.passage.toLowerCase().includes(literal)
      return { passage, isLiteral, score: (chunk === undefined ? undefined : scores.get(chunk)) ?? 0 }
    })
    .filter(({ isLiteral, score }) => isLiteral || score > 0)
    .toSorted((a, b) => Number(b.isLiteral) - Number(a.isLiteral) || b.score - a.score)
  const seen = new Set<number>()
  return ranked.flatMap(({ passage }) => {
    if (seen.has(passage.text)) return []
    seen.add(passage.text)
    return [passage]
  })
}

function passagesOf(text: string, at: number): readonly Passage[] {
  let from = 0
  return chunksOf(text).map((passage) => {
    const start = text.indexOf(passage, from)
    from = start + 1
    return { text: at, start, passage }
  })
}

function asChunk(id: number, text: string, lexicon: Lexicon): FoundChunk {
  return { id, kind: "session", ref: "", chunk: 0, text, terms: lexicon.indexTerms(text), textHash: "", createdAt: 0 }
}

/** What the expansion of a query asks an index for, answered from a handful of texts. */
function termIndex(chunks: readonly FoundChunk[]): Pick<RecallIndex, "termUse" | "termsFrom" | "termsAlike"> {
  const uses = new Map<string, number>()
  let length = 0
  for (const { terms } of chunks) {
    length += terms.length
    for (const term of new Set(terms)) uses.set(term, (uses.get(term) ?? 0) + 1)
  }
  const averageTerms = chunks.length === 0 ? 0 : length / chunks.length
  return {
    termUse: async (terms): Promise<TermUse> => ({
      entries: chunks.length,
      averageTerms,
      uses: new Map(terms.flatMap((term) => (uses.has(term) ? [[term, uses.get(term) ?? 0] as const] : []))),
    }),
    termsFrom: async (prefix, limit) =>
      [...uses.keys()].filter((term) => term !== prefix && term.startsWith(prefix)).slice(0, limit),
    termsAlike: async (term, limit) =>
      [...uses.keys()]
        .filter((other) => Math.abs(other.length - term.length) <= 2 && sharesTrigram(other, term))
        .slice(0, limit * 10),
  }
}

function sharesTrigram(a: string, b: string): boolean {
  for (let at = 0; at + 3 <= a.length; at += 1) if (b.includes(a.slice(at, at + 3))) return true
  return false
}
