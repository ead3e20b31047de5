import { takeCodePoints } from "../../base/text.ts"
import { markWords } from "../../knowledge/message-search/mark-words.ts"
import { searchMessages } from "../../knowledge/message-search/search-messages.ts"
import { createLexicon } from "../../knowledge/semantic-search/lexicon.ts"
import type { SearchableMessage } from "../../protocol/message-words.ts"
import type { MessageSearchOptions, SearchHit, SessionStore } from "../../state/store.ts"
import { isSearchCall, SEARCH_TOOL } from "../../tools/session-search/search-tool.ts"
import { withoutCopies } from "../../tools/session-search/without-copies.ts"

const DEFAULT_LIMIT = 20

/** Copies and messages that only their neighbours match are dropped afterwards. */
const OVERFETCH = 3

/** With `sort`, messages that fit much worse than the best one would otherwise come first. */
const SORTED_SHARE = 0.5

/** The ranking of `session_search` for the command line, over all roles and with tool calls. */
export async function rankedSearch(
  store: SessionStore,
  query: string,
  options: Pick<MessageSearchOptions, "roles" | "sources" | "excludeSources" | "sort" | "limit" | "withContext">,
): Promise<readonly SearchHit[]> {
  const limit = options.limit ?? DEFAULT_LIMIT
  const { roles, sources, excludeSources } = options
  const ranked = await searchMessages(query, store.words, {
    scope: {
      ...(roles !== undefined && { roles }),
      ...(sources !== undefined && { sources }),
      ...(excludeSources !== undefined && { excludeSources }),
    },
    lexicon: createLexicon(),
    limit: limit * OVERFETCH,
    isExcluded: isOfSearchTool,
    isSearchCall,
    // Users search their own conversations: nothing is masked, so that the calls need not be read either.
    shown: (text) => text,
    toolCalls: () => Promise.resolve(""),
  })
  const best = ranked[0]?.score ?? 0
  const matching = ranked.filter(
    ({ matchedBy, score }) => matchedBy !== "context" && (options.sort === undefined || score >= best * SORTED_SHARE),
  )
  const direction = options.sort === "newest" ? -1 : 1
  const sorted =
    options.sort === undefined
      ? matching
      : matching.toSorted((a, b) => direction * (a.row.timestamp - b.row.timestamp || a.row.id - b.row.id))
  const found = (await withoutCopies(sorted, store)).slice(0, limit)
  return await Promise.all(
    found.map(({ row }) => toHit(row, { query, store, withContext: options.withContext !== false })),
  )
}

function isOfSearchTool({ calledTools, text, toolName }: SearchableMessage): boolean {
  if (toolName === SEARCH_TOOL) return true
  return text.trim() === "" && calledTools.length > 0 && calledTools.every(isSearchCall)
}

const CONTEXT_LENGTH = 200

async function toHit(
  row: SearchableMessage,
  {
    query,
    store,
    withContext,
  }: { readonly query: string; readonly store: SessionStore; readonly withContext: boolean },
): Promise<SearchHit> {
  const session = await store.session(row.sessionId)
  const window = withContext ? (await store.messagesAround(row.id, 1)).messages : []
  return {
    id: row.id,
    sessionId: row.sessionId,
    role: row.role,
    snippet: markWords(row.text === "" ? `calls ${row.calledTools.join(", ")}` : row.text, query),
    timestamp: row.timestamp,
    toolName: row.toolName,
    source: session?.source ?? "",
    model: session?.model ?? null,
    sessionStarted: session?.startedAt ?? 0,
    context: window.map(({ role, text }) => ({ role, text: takeCodePoints(text, CONTEXT_LENGTH) })),
  }
}
