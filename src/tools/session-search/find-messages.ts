import { errorMessage } from "../../base/system-error.ts"
import { withoutQuestions } from "../../knowledge/message-search/asked-before.ts"
import { NEIGHBOUR_DISTANCE, searchMessages } from "../../knowledge/message-search/search-messages.ts"
import { HIDDEN_SOURCES, parseMessageRef } from "../../knowledge/semantic-search/index-sessions.ts"
import type { SemanticHit, SemanticSearch } from "../../knowledge/semantic-search/semantic-search.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { MessageScope, SearchableMessage } from "../../protocol/message-words.ts"
import { isExactQuery } from "../../state/search-query.ts"
import type { PastSessions, SessionsPort } from "../../toolkit/ports/sessions.ts"
import { matchingInShownText } from "./matching-in-shown-text.ts"
import type { SearchRequest } from "./search-request.ts"
import { isSearchCall, SEARCH_TOOL } from "./search-tool.ts"
import { withoutCopies } from "./without-copies.ts"

const ROLES: readonly string[] = ["user", "assistant"]

/** A message of a result. */
export interface FoundMessage {
  readonly row: SearchableMessage
  readonly matchedBy: "words" | "meaning" | "context"
  /** From the full-text index, where the query was matched exactly. */
  readonly snippet?: string
}

export interface SearchContext {
  readonly store: PastSessions
  readonly port: SessionsPort
  /** The current session; undefined when searching another profile. */
  readonly running: SessionId | undefined
  readonly redact: (text: string) => string
}

/** How many messages are ranked; later pages come from the same list. */
const MAX_RANKED = 80

export interface FoundMessages {
  readonly messages: readonly FoundMessage[]
  /** Why semantic search could not be used. */
  readonly problem?: string
}

/** Messages of all sessions for a query, best first. With `sort`, those that fit about as well as the best one, by time. */
export async function findMessages(
  request: SearchRequest,
  context: SearchContext,
  semanticSearch: SemanticSearch | undefined,
): Promise<FoundMessages> {
  const isExcluded = await exclusions(context)
  if (isExactQuery(request.query)) return { messages: await exactMessages(request, context, isExcluded) }
  // Requested first, so that an embedding of the query arrives while the words are searched.
  const relating = relatedMessages(semanticSearch, request, { ...context, isExcluded })
  const ranked = await searchMessages(request.query, context.store.words, {
    scope: scopeOf(request),
    lexicon: await context.port.lexicon(),
    limit: MAX_RANKED,
    isExcluded,
    isSearchCall,
    shown: context.redact,
  })
  const related = await relating
  const best = ranked[0]?.score ?? 0
  const fitting = request.sort === undefined ? ranked : ranked.filter(({ score }) => score >= best * SORTED_SHARE)
  const fused = fuse(fitting, request.sort === undefined || fitting.length === 0 ? related.lists : [])
  const messages = await withoutCopies(sortedByTime(withoutShown(fused), request.sort), context.store)
  return { messages, ...(related.problem !== undefined && { problem: related.problem }) }
}

/** A message that only its neighbours match is shown together with them, unless it ranks before them. */
function withoutShown(found: readonly FoundMessage[]): readonly FoundMessage[] {
  const kept: FoundMessage[] = []
  for (const entry of found) {
    const { id, sessionId } = entry.row
    const isShown = ({ row }: FoundMessage): boolean =>
      row.sessionId === sessionId && Math.abs(row.id - id) <= NEIGHBOUR_DISTANCE
    if (entry.matchedBy !== "context" || !kept.some(isShown)) kept.push(entry)
  }
  return kept
}

/** Sorting by time would otherwise put weak matches first. */
const SORTED_SHARE = 0.5

/** Leaves out the current turn, which contains the query, earlier messages that ask the same, and results of this tool. */
export async function exclusions({
  store,
  running,
}: Pick<SearchContext, "store" | "running">): Promise<(row: SearchableMessage) => boolean> {
  const prompt = running === undefined ? undefined : await store.words.newestPrompt(running)
  return (row) => {
    if (row.toolName === SEARCH_TOOL) return true
    if (prompt === undefined) return false
    return (
      (row.sessionId === prompt.sessionId && row.id >= prompt.id) || (row.role === "user" && row.text === prompt.text)
    )
  }
}

function scopeOf(request: SearchRequest): MessageScope {
  return {
    roles: request.roles ?? ROLES,
    ...(request.source === undefined ? { excludeSources: HIDDEN_SOURCES } : { sources: [request.source] }),
    ...(request.after !== undefined && { after: request.after }),
    ...(request.before !== undefined && { before: request.before }),
  }
}

/** The query has syntax of its own, so it is matched as it is written. */
async function exactMessages(
  request: SearchRequest,
  context: SearchContext,
  isExcluded: (row: SearchableMessage) => boolean,
): Promise<readonly FoundMessage[]> {
  const { store } = context
  const hits = await store.search(request.query, {
    ...scopeOf(request),
    ...(request.sort !== undefined && { sort: request.sort }),
    withContext: false,
    limit: MAX_RANKED,
  })
  const snippets = new Map(hits.map(({ id, snippet }) => [id, snippet.trim()]))
  const isMasked = ({ text }: SearchableMessage): boolean => context.redact(text) !== text
  const rows = await store.words.inScope([...snippets.keys()], {})
  const found = rows.flatMap((row): readonly FoundMessage[] => {
    // The index also contains the arguments of tool calls.
    if (isExcluded(row) || row.isGenerated || row.text.trim() === "") return []
    return [{ row, matchedBy: "words", ...(isMasked(row) ? {} : { snippet: snippets.get(row.id) ?? "" }) }]
  })
  return await withoutCopies(await matchingInShownText(found, request.query, context), store)
}

/** A ranking to combine with the one by words, and how much it counts. */
interface RelatedList {
  readonly weight: number
  readonly rows: readonly SearchableMessage[]
}

const MAX_RELATED = 30

/** Weights of the lists beside the ranking by words, which has 1. */
const WEIGHTS = { concepts: 0.3, vectors: 1 }

/**
 * Messages that the semantic index finds: by related words, and by embeddings where they are configured. The index is filled in the
 * background, so it finds only what it has indexed. When it fails, the words remain.
 */
async function relatedMessages(
  semanticSearch: SemanticSearch | undefined,
  request: SearchRequest,
  context: SearchContext & { readonly isExcluded: (row: SearchableMessage) => boolean },
): Promise<{ readonly lists: readonly RelatedList[]; readonly problem?: string }> {
  if (semanticSearch === undefined) return { lists: [] }
  const options = { limit: MAX_RELATED, kinds: ["session"] } as const
  try {
    const [byVectors, byConcepts] = await Promise.all([
      semanticSearch.searchVectors(request.query, options),
      semanticSearch.search(request.query, { ...options, wordsOnly: true }),
    ])
    const rows = await storedRows([...byVectors, ...byConcepts], semanticSearch, { request, ...context })
    const toRows = (hits: readonly SemanticHit[]): readonly SearchableMessage[] =>
      hits.flatMap(({ ref }) => rows.get(ref) ?? [])
    return {
      lists: [
        { weight: WEIGHTS.concepts, rows: toRows(byConcepts) },
        { weight: WEIGHTS.vectors, rows: toRows(byVectors) },
      ],
    }
  } catch (error) {
    return { lists: [], problem: `Only full-text search was possible: ${errorMessage(error)}` }
  }
}

/** The messages of hits by ref. Hits whose message no longer exists are removed from the index. */
async function storedRows(
  hits: readonly SemanticHit[],
  semanticSearch: SemanticSearch,
  context: SearchContext & {
    readonly request: SearchRequest
    readonly isExcluded: (row: SearchableMessage) => boolean
  },
): Promise<ReadonlyMap<string, SearchableMessage>> {
  const { store, request, isExcluded, redact } = context
  const refs = new Map(hits.map(({ ref }) => [parseMessageRef(ref)?.messageId ?? 0, ref] as const))
  const ids = [...refs.keys()]
  const stored = new Set((await store.words.inScope(ids, {})).map(({ id }) => id))
  for (const [id, ref] of refs) if (!stored.has(id)) await semanticSearch.remove(ref)
  const inScope = (await store.words.inScope(ids, scopeOf(request))).filter(
    // The index has the words of secrets too. Such a message is still found by its other words.
    (row) => !row.isGenerated && !isExcluded(row) && redact(row.text) === row.text,
  )
  const rows = await withoutQuestions(inScope, store.words, { query: request.query, isSearchCall })
  return new Map(rows.map((row) => [refs.get(row.id) ?? "", row] as const))
}

/** How fast the share of a list falls with the rank. */
const RANK_OFFSET = 20

/** Reciprocal rank fusion. */
function fuse(ranked: readonly FoundMessage[], related: readonly RelatedList[]): readonly FoundMessage[] {
  const scores = new Map<number, { readonly found: FoundMessage; score: number }>()
  for (const [rank, found] of ranked.entries()) scores.set(found.row.id, { found, score: 1 / (RANK_OFFSET + rank) })
  for (const { weight, rows } of related) {
    for (const [rank, row] of rows.entries()) {
      const share = weight / (RANK_OFFSET + rank)
      const known = scores.get(row.id)
      if (known === undefined) scores.set(row.id, { found: { row, matchedBy: "meaning" }, score: share })
      else known.score += share
    }
  }
  return [...scores.values()].toSorted((a, b) => b.score - a.score).map(({ found }) => found)
}

function sortedByTime(found: readonly FoundMessage[], sort: SearchRequest["sort"]): readonly FoundMessage[] {
  if (sort === undefined) return found
  const direction = sort === "newest" ? -1 : 1
  return found.toSorted((a, b) => direction * (a.row.timestamp - b.row.timestamp) || direction * (a.row.id - b.row.id))
}
