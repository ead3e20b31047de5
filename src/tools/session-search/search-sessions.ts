import { errorMessage } from "../../base/system-error.ts"
import { HIDDEN_SOURCES, parseMessageRef } from "../../knowledge/semantic-search/index-sessions.ts"
import type { SemanticSearch, SemanticHit } from "../../knowledge/semantic-search/semantic-search.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { PastSessions, SessionsPort } from "../../toolkit/ports/sessions.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import type { SearchRequest } from "./search-request.ts"
import { isoTime, messageFields } from "./message-fields.ts"

const ROLES: readonly string[] = ["user", "assistant"]
const BOOKEND_CHARS = 200
const CONTEXT_CHARS = 300
const MATCH_CHARS = 1000

/** A matching message, found by full-text or semantic search. */
interface Found {
  readonly sessionId: SessionId
  readonly messageId: number
  readonly role: string
  readonly timestamp: number
  readonly snippet: string
  readonly matchedBy: "words" | "meaning"
}

export interface SessionSearchContext {
  readonly store: PastSessions
  readonly port: SessionsPort
  /** The current session; undefined when searching another profile. */
  readonly running: SessionId | undefined
  readonly signal: AbortSignal
}

/** Searches all other conversations: full text first, then semantically when that finds too little. */
export async function searchPastSessions(request: SearchRequest, context: SessionSearchContext): Promise<ToolResult> {
  const end = request.offset + request.limit
  const exact = await searchFullText(request, context, end)
  const needsMore = exact.length < end && context.running !== undefined && !/\bNOT\b/u.test(request.query)
  const other = needsMore ? await searchSemantically(request, context, exact) : { found: [], notes: [] }
  const page = [...exact, ...other.found].slice(request.offset, end)
  const results = await Promise.all(page.map((found) => hitFields(found, request, context.store)))
  const message = "problem" in other && other.problem !== undefined ? other.problem : nothingFoundHint(results.length)
  return {
    content: {
      success: true,
      mode: "discover",
      query: request.query,
      results,
      count: results.length,
      ...(other.notes.length > 0 && { notes: other.notes.map(({ kind, text }) => ({ kind, text })) }),
      ...(message !== undefined && { message }),
    },
    summary: `${results.length} sessions found`,
  }
}

function nothingFoundHint(found: number): string | undefined {
  return found > 0 ? undefined : "Nothing was found; try fewer or other words."
}

async function searchFullText(
  request: SearchRequest,
  context: SessionSearchContext,
  limit: number,
): Promise<readonly Found[]> {
  const hits = await context.store.search(request.query, {
    roles: request.roles ?? ROLES,
    ...(request.source === undefined ? { excludeSources: HIDDEN_SOURCES } : { sources: [request.source] }),
    ...(request.sort !== undefined && { sort: request.sort }),
    ...(request.after !== undefined && { after: request.after }),
    ...(request.before !== undefined && { before: request.before }),
    ...(context.running !== undefined && { exceptLineageOf: context.running }),
    oncePerLineage: true,
    withContext: false,
    limit,
  })
  return hits.map(({ id, sessionId, role, timestamp, snippet }) => ({
    sessionId,
    messageId: id,
    role,
    timestamp,
    snippet: snippet.trim(),
    matchedBy: "words",
  }))
}

interface SemanticResults {
  readonly found: readonly Found[]
  /** From memory and learnings. */
  readonly notes: readonly SemanticHit[]
  /** Why the results may be incomplete. */
  readonly problem?: string
}

/** Time limit for updating the index in one call. */
const CATCH_UP_MS = 1500
const MAX_CANDIDATES = 60
const NOTE_CANDIDATES = 10
const MAX_NOTES = 3

/** Relative to the best hit, which has 1; hits far below only share a word by chance. */
const MIN_SCORE = 0.4

/** Semantic search is optional: when it fails, the full-text results remain. */
async function searchSemantically(
  request: SearchRequest,
  context: SessionSearchContext,
  exact: readonly Found[],
): Promise<SemanticResults> {
  if (context.port.semanticSearch === undefined) return { found: [], notes: [] }
  try {
    const semanticSearch = await context.port.semanticSearch()
    const { complete } = await semanticSearch.syncSessions(context.store, {
      budgetMs: CATCH_UP_MS,
      signal: context.signal,
    })
    const found = await semanticMessages(semanticSearch, request, { ...context, exact })
    return {
      found,
      notes: await matchingNotes(semanticSearch, request, context),
      ...(!complete && { problem: "Older sessions are still being indexed; the same search finds more in a moment." }),
    }
  } catch (error) {
    return { found: [], notes: [], problem: `Only full-text search was possible: ${errorMessage(error)}` }
  }
}

async function semanticMessages(
  semanticSearch: SemanticSearch,
  request: SearchRequest,
  context: SessionSearchContext & { readonly exact: readonly Found[] },
): Promise<readonly Found[]> {
  const { store, running } = context
  const roots = new Set(await Promise.all(context.exact.map(({ sessionId }) => store.lineageRoot(sessionId))))
  if (running !== undefined) roots.add(await store.lineageRoot(running))
  const hits = await semanticSearch.search(request.query, {
    limit: MAX_CANDIDATES,
    kinds: ["session"],
    except: await ownSessions(context),
  })
  const found: Found[] = []
  for (const hit of hits) {
    if (hit.score < MIN_SCORE) continue
    const known = await storedHit(hit, store, semanticSearch)
    if (known === undefined || !(await matchesRequest(known, request, store))) continue
    const root = await store.lineageRoot(known.sessionId)
    if (roots.has(root)) continue
    roots.add(root)
    found.push(known)
    if (found.length + context.exact.length >= request.offset + request.limit) break
  }
  if (request.sort === undefined) return found
  const direction = request.sort === "newest" ? -1 : 1
  return found.toSorted((a, b) => direction * (a.timestamp - b.timestamp))
}

/** The sessions of the current conversation, which contains the query itself. */
async function ownSessions({ store, running }: SessionSearchContext): Promise<readonly SessionId[]> {
  return running === undefined ? [] : (await store.lineage(running)).map(({ id }) => id)
}

/** The message of a hit. A hit whose message no longer exists is removed from the index. */
async function storedHit(
  hit: SemanticHit,
  store: PastSessions,
  semanticSearch: SemanticSearch,
): Promise<Found | undefined> {
  const ref = parseMessageRef(hit.ref)
  const row = ref === undefined ? undefined : (await store.messagesAround(ref.messageId, 0)).messages[0]
  if (ref === undefined || row === undefined || !row.active || row.sessionId !== ref.sessionId) {
    await semanticSearch.remove(hit.ref)
    return undefined
  }
  return {
    sessionId: row.sessionId,
    messageId: row.id,
    role: row.role,
    timestamp: row.timestamp,
    snippet: hit.text,
    matchedBy: "meaning",
  }
}

async function matchesRequest(found: Found, request: SearchRequest, store: PastSessions): Promise<boolean> {
  if (!(request.roles ?? ROLES).includes(found.role)) return false
  if (request.after !== undefined && found.timestamp < request.after) return false
  if (request.before !== undefined && found.timestamp >= request.before) return false
  return request.source === undefined || (await store.session(found.sessionId))?.source === request.source
}

/** Notes that rank high among all results. */
async function matchingNotes(
  semanticSearch: SemanticSearch,
  request: SearchRequest,
  context: SessionSearchContext,
): Promise<readonly SemanticHit[]> {
  const { port } = context
  if (port.notes === undefined || request.offset > 0) return []
  const notes = Map.groupBy(await port.notes(), ({ kind }) => kind)
  for (const kind of ["memory", "user", "learning"] as const) await semanticSearch.replace(kind, notes.get(kind) ?? [])
  const hits = await semanticSearch.search(request.query, {
    limit: NOTE_CANDIDATES,
    except: await ownSessions(context),
  })
  return hits.filter(({ kind, score }) => kind !== "session" && score >= MIN_SCORE).slice(0, MAX_NOTES)
}

async function hitFields(
  found: Found,
  request: SearchRequest,
  store: PastSessions,
): Promise<Readonly<Record<string, unknown>>> {
  const view = await store.anchoredView(found.messageId, request.window)
  const session = await store.session(found.sessionId)
  return {
    session_id: found.sessionId,
    when: isoTime(found.timestamp),
    source: session?.source ?? null,
    model: session?.model ?? null,
    title: session?.title ?? null,
    matched_by: found.matchedBy,
    matched_role: found.role,
    match_message_id: found.messageId,
    snippet: found.snippet,
    bookend_start: view.opening.map((row) => messageFields(row, BOOKEND_CHARS)),
    messages: view.messages.map((row) => messageFields(row, row.id === found.messageId ? MATCH_CHARS : CONTEXT_CHARS)),
    bookend_end: view.closing.map((row) => messageFields(row, BOOKEND_CHARS)),
    messages_before: view.before,
    messages_after: view.after,
    ...(session?.parent !== null && session?.parent !== undefined && { parent_session_id: session.parent }),
  }
}
