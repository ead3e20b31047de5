import { splitIntoChunks } from "./chunks.ts"
import { parseConcepts } from "./concepts.ts"
import type { Lexicon } from "./lexicon.ts"
import { resolveConcepts } from "./resolve-concepts.ts"
import { keywordScores } from "./ranking.ts"
import type { IndexedChunk, SemanticIndex, TermStatistics } from "../../protocol/semantic-index.ts"

/** A passage and its position. */
export interface Passage {
  /** Index of the text in the list. */
  readonly text: number
  /** Offset within the text, in UTF-16 code units. */
  readonly start: number
  readonly passage: string
}

/** About 20 MB of text. The remainder is not searched. */
const MAX_PASSAGES = 20_000

/**
 * Searches texts in memory, without an index. Returns at most one passage per text, best first; passages that contain the query
 * literally come before all others.
 */
export async function searchPassages(
  query: string,
  texts: readonly string[],
  lexicon: Lexicon,
): Promise<readonly Passage[]> {
  const passages = texts.flatMap(passagesOf).slice(0, MAX_PASSAGES)
  const chunks = passages.map(({ passage }, id) => asChunk(id, passage, lexicon))
  const { concepts, statistics } = await resolveConcepts(parseConcepts(query, lexicon), inMemoryIndex(chunks), lexicon)
  const scores = keywordScores(concepts, chunks, statistics)
  const literal = query.replaceAll('"', "").trim().toLowerCase()
  const ranked = passages
    .map((passage, index) => {
      const chunk = chunks[index]
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

function passagesOf(text: string, index: number): readonly Passage[] {
  let from = 0
  return splitIntoChunks(text).map((passage) => {
    const start = text.indexOf(passage, from)
    from = start + 1
    return { text: index, start, passage }
  })
}

function asChunk(id: number, text: string, lexicon: Lexicon): IndexedChunk {
  return { id, kind: "session", ref: "", chunk: 0, text, terms: lexicon.indexTerms(text), textHash: "", createdAt: 0 }
}

/** Implements the part of the index that query expansion needs, over chunks in memory. */
function inMemoryIndex(
  chunks: readonly IndexedChunk[],
): Pick<SemanticIndex, "termStatistics" | "termsWithPrefix" | "similarTerms"> {
  const frequency = new Map<string, number>()
  let length = 0
  for (const { terms } of chunks) {
    length += terms.length
    for (const term of new Set(terms)) frequency.set(term, (frequency.get(term) ?? 0) + 1)
  }
  const averageLength = chunks.length === 0 ? 0 : length / chunks.length
  return {
    termStatistics: async (terms): Promise<TermStatistics> => ({
      chunkCount: chunks.length,
      averageLength,
      documentFrequency: new Map(
        terms.flatMap((term) => (frequency.has(term) ? [[term, frequency.get(term) ?? 0] as const] : [])),
      ),
    }),
    termsWithPrefix: async (prefix, limit) =>
      [...frequency.keys()].filter((term) => term !== prefix && term.startsWith(prefix)).slice(0, limit),
    similarTerms: async (term, limit) =>
      [...frequency.keys()]
        .filter((other) => Math.abs(other.length - term.length) <= 2 && sharesTrigram(other, term))
        .slice(0, limit * 10),
  }
}

function sharesTrigram(a: string, b: string): boolean {
  for (let index = 0; index + 3 <= a.length; index += 1) if (b.includes(a.slice(index, index + 3))) return true
  return false
}
