import { errorMessage } from "../../base/system-error.ts"
import { markWords } from "../../knowledge/message-search/mark-words.ts"
import type { SemanticSearch, SemanticHit } from "../../knowledge/semantic-search/semantic-search.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { SessionRow } from "../../state/store.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import { findMessages } from "./find-messages.ts"
import type { FoundMessage, SearchContext } from "./find-messages.ts"
import { isoTime } from "./message-fields.ts"
import type { SearchRequest } from "./search-request.ts"
import { showHits } from "./show-hits.ts"
import type { Hit } from "./show-hits.ts"
import { counted } from "../../base/counted.ts"

/** Searches all conversations, including what was removed from the current one. */
export async function searchPastSessions(request: SearchRequest, context: SearchContext): Promise<ToolResult> {
  const semantic = await openSemanticSearch(context)
  const { messages: found, problem = semantic.problem } = await findMessages(request, context, semantic.search)
  const page = found.slice(request.offset, request.offset + request.limit)
  const sessions = await readSessions(page, context)
  const hits = page.map((message) =>
    describeHit(message, { ...context, query: request.query, session: sessions.get(message.row.sessionId) }),
  )
  const results = await showHits(hits, context.store, { window: request.window, bookends: true })
  const notes = problem === undefined ? await matchingNotes(semantic.search, request, context) : []
  context.port.indexInBackground?.()
  const left = found.length - request.offset - results.length
  const message = problem ?? hint(results.length, left, request)
  return {
    content: {
      success: true,
      mode: "discover",
      query: request.query,
      results,
      count: results.length,
      ...(notes.length > 0 && { notes: notes.map(({ kind, text }) => ({ kind, text })) }),
      ...(message !== undefined && { message }),
    },
    summary: `${counted(results.length, "message")} found`,
  }
}

function hint(shown: number, left: number, { offset, limit }: SearchRequest): string | undefined {
  if (shown === 0) return "Nothing was found; try other words."
  return left > 0 ? `${left} weaker matches follow: use offset ${offset + limit}.` : undefined
}

/** The semantic index adds to the search by words; when it cannot be used, the words remain. */
async function openSemanticSearch({
  port,
  running,
}: SearchContext): Promise<{ readonly search?: SemanticSearch; readonly problem?: string }> {
  if (port.semanticSearch === undefined || running === undefined) return {}
  try {
    return { search: await port.semanticSearch() }
  } catch (error) {
    return { problem: `Only full-text search was possible: ${errorMessage(error)}` }
  }
}

async function readSessions(
  found: readonly FoundMessage[],
  { store }: SearchContext,
): Promise<ReadonlyMap<SessionId, SessionRow>> {
  const sessions = new Map<SessionId, SessionRow>()
  for (const id of new Set(found.map(({ row }) => row.sessionId))) {
    const session = await store.session(id)
    if (session !== undefined) sessions.set(id, session)
  }
  return sessions
}

function describeHit(
  { row, matchedBy, snippet }: FoundMessage,
  {
    query,
    session,
    redact,
  }: Pick<SearchContext, "redact"> & { readonly query: string; readonly session: SessionRow | undefined },
): Hit {
  return {
    row,
    fields: {
      session_id: row.sessionId,
      when: isoTime(row.timestamp),
      source: session?.source ?? null,
      model: session?.model ?? null,
      title: session?.title ?? null,
      matched_by: matchedBy,
      matched_role: row.role,
      match_message_id: row.id,
      snippet: snippet ?? markWords(redact(row.text), query),
      ...(session?.parent !== null && session?.parent !== undefined && { parent_session_id: session.parent }),
    },
  }
}

const NOTE_CANDIDATES = 10
const MAX_NOTES = 3

/** Relative to the best hit, which has 1; notes far below only share a word by chance. */
const MIN_NOTE_SCORE = 0.4

/** Notes from memory and learnings that rank high among all results. */
async function matchingNotes(
  semanticSearch: SemanticSearch | undefined,
  request: SearchRequest,
  { port, redact }: SearchContext,
): Promise<readonly SemanticHit[]> {
  if (semanticSearch === undefined || port.notes === undefined || request.offset > 0) return []
  const notes = Map.groupBy(await port.notes(), ({ kind }) => kind)
  for (const kind of ["memory", "user", "learning"] as const) await semanticSearch.replace(kind, notes.get(kind) ?? [])
  const hits = await semanticSearch.search(request.query, { limit: NOTE_CANDIDATES })
  return hits
    .filter(({ kind, score, text }) => kind !== "session" && score >= MIN_NOTE_SCORE && redact(text) === text)
    .slice(0, MAX_NOTES)
}
