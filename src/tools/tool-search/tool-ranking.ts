import { isRecord } from "../../base/json.ts"
import { lazy } from "../../base/lazy.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { DeferredToolsPort } from "../../toolkit/ports/deferred-tools.ts"

interface SearchLimits {
  readonly defaultLimit: number
  readonly maxLimit: number
}

/** `tools.tool_search.search_default_limit` and `max_search_limit`. */
const DEFAULT_LIMITS: SearchLimits = { defaultLimit: 5, maxLimit: 20 }

/** A search over names, descriptions and parameter names of tools. */
export function createToolSearch(
  deferred: readonly ToolDefinition[],
  limits: SearchLimits = DEFAULT_LIMITS,
): DeferredToolsPort {
  const byName = new Map(deferred.map((tool) => [tool.name, tool]))
  const names = [...byName.keys()].toSorted()
  const index = lazy(() => indexOf([...byName.values()]))
  return {
    names: () => names,
    find: (name) => byName.get(name),
    search: (query, limit = limits.defaultLimit) => {
      return rank(query, index()).slice(0, Math.max(1, Math.min(limit, limits.maxLimit)))
    },
  }
}

/** Okapi BM25 with its usual constants: saturation of repeated words, and the penalty for long descriptions. */
const K1 = 1.5
const B = 0.75

interface Index {
  readonly documents: readonly Document[]
  readonly averageLength: number
  /** How many tools have the word. */
  readonly holders: ReadonlyMap<string, number>
}

interface Document {
  readonly tool: ToolDefinition
  readonly counts: ReadonlyMap<string, number>
  readonly length: number
  /** For queries that share no whole word with any tool. */
  readonly text: string
}

function indexOf(tools: readonly ToolDefinition[]): Index {
  const documents = tools.map(documentOf)
  const words = documents.reduce((sum, { length }) => sum + length, 0)
  const holders = new Map<string, number>()
  for (const { counts } of documents) for (const word of counts.keys()) holders.set(word, (holders.get(word) ?? 0) + 1)
  return { documents, averageLength: words / Math.max(1, documents.length), holders }
}

function documentOf(tool: ToolDefinition): Document {
  const { properties } = tool.parameters
  const text = [tool.name, tool.description, ...(isRecord(properties) ? Object.keys(properties) : [])].join(" ")
  const words = wordsOf(text)
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return { tool, counts, length: words.length, text: text.toLowerCase() }
}

function rank(query: string, index: Index): readonly ToolDefinition[] {
  const words = [...new Set(wordsOf(query))]
  const scored = index.documents.map((document) => ({ document, score: scoreOf(document, words, index) }))
  const found = scored.some(({ score }) => score > 0)
    ? scored
    : index.documents.map((document) => ({ document, score: shareInside(document, query) }))
  return found
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || (a.document.tool.name < b.document.tool.name ? -1 : 1))
    .map(({ document }) => document.tool)
}

function scoreOf({ counts, length }: Document, words: readonly string[], index: Index): number {
  const { documents, averageLength, holders } = index
  return words.reduce((score, word) => {
    const count = counts.get(word)
    if (count === undefined) return score
    const having = holders.get(word) ?? 0
    const rarity = Math.log(1 + (documents.length - having + 0.5) / (having + 0.5))
    return score + (rarity * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / averageLength))
  }, 0)
}

/** How many words of the query occur in the text, as whole words or parts of words. */
function shareInside({ text }: Document, query: string): number {
  const parts = query.toLowerCase().split(/\s+/u)
  return parts.filter((part) => part !== "" && text.includes(part)).length
}

/** Words of names (`read_file`, `readFile`) and of sentences; singular and plural are the same word. */
function wordsOf(text: string): readonly string[] {
  const words = text.replaceAll(/(?<=[\p{Ll}\d])(?=\p{Lu})/gu, " ").toLowerCase()
  return (words.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => (word.length > 3 ? word.replace(/s$/u, "") : word))
}
