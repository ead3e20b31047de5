import { errorMessage } from "../../base/system-error.ts"
import { HIDDEN_SOURCES, parseMessageRef } from "../../knowledge/recall/index-sessions.ts"
import type { Recall, RecallHit } from "../../knowledge/recall/recall.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { PastSessions, SessionsPort } from "../../toolkit/ports/sessions.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import type { SearchRequest } from "./search-request.ts"
import { isoTime, shownMessage } from "./shown-message.ts"

const ROLES: readonly string[] = ["user", "assistant"]
const BOOKEND_CHARS = 200
const CONTEXT_CHARS = 300
const MATCH_CHARS = 1000

/** A message that matches, found by the words of the query or by other words for the same. */
interface Found {
  readonly sessionId: SessionId
  readonly messageId: number
  readonly role: string
  readonly timestamp: number
  readonly snippet: string
  readonly matchedBy: "words" | "meaning"
}

export interface Discovery {
  readonly store: PastSessions
  readonly port: SessionsPort
  /** Undefined in another profile, whose sessions are all strangers'. */
  readonly running: SessionId | undefined
  readonly signal: AbortSignal
}

/** Searches all other conversations: by the words, and when these find too little by other words for the same. */
export async function discover(request: SearchRequest, place: Discovery): Promise<ToolResult> {
  const wanted = request.offset + request.limit
  const exact = await byWords(request, place, wanted)
  const looked = exact.length < wanted && place.running !== undefined && !/\bNOT\b/u.test(request.query)
  const other = looked ? await byMeaning(request, place, exact) : { found: [], notes: [] }
  const page = [...exact, ...other.found].slice(request.offset, wanted)
  const results = await Promise.all(page.map((found) => shownHit(found, request, place.store)))
  const message = "problem" in other && other.problem !== undefined ? other.problem : emptyHint(results.length)
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

function emptyHint(found: number): string | undefined {
  return found > 0 ? undefined : "Nothing was found; try fewer or other words."
}

async function byWords(request: SearchRequest, place: Discovery, limit: number): Promise<readonly Found[]> {
  const hits = await place.store.search(request.query, {
    roles: request.roles ?? ROLES,
    ...(request.source === undefined ? { excludeSources: HIDDEN_SOURCES } : { sources: [request.source] }),
    ...(request.sort !== undefined && { sort: request.sort }),
    ...(request.after !== undefined && { after: request.after }),
    ...(request.before !== undefined && { before: request.before }),
    ...(place.running !== undefined && { exceptLineageOf: place.running }),
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

interface OtherWords {
  readonly found: readonly Found[]
  /** From memory and learnings. */
  readonly notes: readonly RecallHit[]
  /** Why it may be incomplete. */
  readonly problem?: string
}

/** A call may take this long to bring the index up to date. */
const CATCH_UP_MS = 1500
const MAX_CANDIDATES = 60
const NOTES_AMONG = 10
const MAX_NOTES = 3

/** Of 1 for the best hit; what is far below it only happens to share a word. */
const MIN_SCORE = 0.4

/** The index of other words is a help, not a need: without it the rest of the answer stands. */
async function byMeaning(request: SearchRequest, place: Discovery, exact: readonly Found[]): Promise<OtherWords> {
  if (place.port.recall === undefined) return { found: [], notes: [] }
  try {
    const recall = await place.port.recall()
    const { complete } = await recall.catchUp(place.store, { budgetMs: CATCH_UP_MS, signal: place.signal })
    const found = await foundByRecall(recall, request, { ...place, exact })
    return {
      found,
      notes: await matchingNotes(recall, request, place),
      ...(!complete && { problem: "Older sessions are still being indexed; the same search finds more in a moment." }),
    }
  } catch (error) {
    return { found: [], notes: [], problem: `Only the exact words were searched: ${errorMessage(error)}` }
  }
}

async function foundByRecall(
  recall: Recall,
  request: SearchRequest,
  place: Discovery & { readonly exact: readonly Found[] },
): Promise<readonly Found[]> {
  const { store, running } = place
  const roots = new Set(await Promise.all(place.exact.map(({ sessionId }) => store.lineageRoot(sessionId))))
  if (running !== undefined) roots.add(await store.lineageRoot(running))
  const hits = await recall.search(request.query, {
    limit: MAX_CANDIDATES,
    kinds: ["session"],
    except: await ownSessions(place),
  })
  const found: Found[] = []
  for (const hit of hits) {
    if (hit.score < MIN_SCORE) continue
    const known = await storedHit(hit, store, recall)
    if (known === undefined || !(await isWanted(known, request, store))) continue
    const root = await store.lineageRoot(known.sessionId)
    if (roots.has(root)) continue
    roots.add(root)
    found.push(known)
    if (found.length + place.exact.length >= request.offset + request.limit) break
  }
  if (request.sort === undefined) return found
  const direction = request.sort === "newest" ? -1 : 1
  return found.toSorted((a, b) => direction * (a.timestamp - b.timestamp))
}

/** The running conversation, in which the question itself stands. */
async function ownSessions({ store, running }: Discovery): Promise<readonly SessionId[]> {
  return running === undefined ? [] : (await store.lineage(running)).map(({ id }) => id)
}

/** The message behind a hit, as long as it is still there; the index forgets what is not. */
async function storedHit(hit: RecallHit, store: PastSessions, recall: Recall): Promise<Found | undefined> {
  const ref = parseMessageRef(hit.ref)
  const row = ref === undefined ? undefined : (await store.around(ref.messageId, 0)).messages[0]
  if (ref === undefined || row === undefined || !row.active || row.sessionId !== ref.sessionId) {
    await recall.remove(hit.ref)
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

async function isWanted(found: Found, request: SearchRequest, store: PastSessions): Promise<boolean> {
  if (!(request.roles ?? ROLES).includes(found.role)) return false
  if (request.after !== undefined && found.timestamp < request.after) return false
  if (request.before !== undefined && found.timestamp >= request.before) return false
  return request.source === undefined || (await store.session(found.sessionId))?.source === request.source
}

/** Notes that hold their own beside everything else there is. */
async function matchingNotes(recall: Recall, request: SearchRequest, place: Discovery): Promise<readonly RecallHit[]> {
  const { port } = place
  if (port.notes === undefined || request.offset > 0) return []
  const notes = Map.groupBy(await port.notes(), ({ kind }) => kind)
  for (const kind of ["memory", "user", "learning"] as const) await recall.replace(kind, notes.get(kind) ?? [])
  const hits = await recall.search(request.query, { limit: NOTES_AMONG, except: await ownSessions(place) })
  return hits.filter(({ kind, score }) => kind !== "session" && score >= MIN_SCORE).slice(0, MAX_NOTES)
}

async function shownHit(
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
    bookend_start: view.opening.map((row) => shownMessage(row, BOOKEND_CHARS)),
    messages: view.messages.map((row) => shownMessage(row, row.id === found.messageId ? MATCH_CHARS : CONTEXT_CHARS)),
    bookend_end: view.closing.map((row) => shownMessage(row, BOOKEND_CHARS)),
    messages_before: view.before,
    messages_after: view.after,
    ...(session?.parent !== null && session?.parent !== undefined && { parent_session_id: session.parent }),
  }
}
