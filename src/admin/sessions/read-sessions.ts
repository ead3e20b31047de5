import type {
  LineageNode,
  ListOptions,
  MessageRow,
  SearchHit,
  MessageSearchOptions,
  SessionRow,
  SessionSummary,
} from "../../state/store.ts"
import { StoreError } from "../../state/store.ts"
import { isExactQuery } from "../../state/search-query.ts"
import { findExactSession, findSession, withSessionStore, type SessionStoreContext } from "./session-store.ts"

/** Sessions that other programs created through a tool; listed only when their source is requested. */
const HIDDEN_SOURCES = ["tool"]

/** Sessions by last activity, newest first. */
export async function listSessions(
  context: SessionStoreContext,
  options: { readonly source: string | undefined; readonly limit: number; readonly all: boolean },
): Promise<readonly SessionSummary[]> {
  const { source, limit, all } = options
  const filter: ListOptions = source === undefined ? { excludeSources: HIDDEN_SOURCES } : { source }
  return (
    (await withSessionStore(context, (store) => store.list({ ...filter, limit, orderBy: "last-activity", all }))) ?? []
  )
}

/**
 * Messages for a query. Words are ranked, and any of them is enough; a query with phrases, `AND`, `OR`, `NOT` or `prefix*` is matched
 * exactly.
 */
export async function searchSessions(
  context: SessionStoreContext,
  query: string,
  options: Pick<MessageSearchOptions, "roles" | "sort" | "limit" | "withContext"> & {
    readonly source: string | undefined
  },
): Promise<readonly SearchHit[]> {
  const { source, ...search } = options
  const filter: MessageSearchOptions = source === undefined ? { excludeSources: HIDDEN_SOURCES } : { sources: [source] }
  const found = await withSessionStore(context, async (store) => {
    if (isExactQuery(query)) return await store.search(query, { ...search, ...filter })
    const { rankedSearch } = await import("./ranked-search.ts")
    return await rankedSearch(store, query, { ...search, ...filter })
  })
  return found ?? []
}

/** The row of exactly the session with this id, title or beginning of an id; undefined when there is none. */
export function readSession(context: SessionStoreContext, name: string): Promise<SessionRow | undefined> {
  return withSessionStore(context, (store) => findExactSession(store, name))
}

export interface Transcript {
  readonly session: SessionRow
  readonly messages: readonly MessageRow[]
}

export function readTranscript(context: SessionStoreContext, name: string): Promise<Transcript | undefined> {
  return withSessionStore(context, async (store) => {
    const session = await findSession(store, name)
    return session === undefined ? undefined : { session, messages: await store.messages(session.id) }
  })
}

/** The lineage of one session, or of all. Undefined when there is no session with this name. */
export async function readLineage(
  context: SessionStoreContext,
  name: string | undefined,
): Promise<readonly LineageNode[] | undefined> {
  if (name === undefined) return (await withSessionStore(context, (store) => store.lineage())) ?? []
  return await withSessionStore(context, async (store) => {
    const session = await findSession(store, name)
    return session === undefined ? undefined : store.lineage(session.id)
  })
}

export type SessionCounts =
  | { readonly kind: "counted"; readonly today: number; readonly total: number }
  | { readonly kind: "unreadable"; readonly reason: string }

const MAX_RECENT_SESSIONS = 1000

/** Counts sessions for a report: a damaged database is part of the result, so that the report can continue. */
export async function countSessions(context: SessionStoreContext): Promise<SessionCounts> {
  const midnight = new Date(context.clock.now()).setHours(0, 0, 0, 0) / 1000
  try {
    const counts = await withSessionStore(context, async (store) => {
      const recent = await store.list({ limit: MAX_RECENT_SESSIONS, orderBy: "started", all: true })
      return {
        today: recent.filter((session) => session.startedAt >= midnight).length,
        total: await store.count(),
      }
    })
    return { kind: "counted", ...(counts ?? { today: 0, total: 0 }) }
  } catch (error) {
    if (error instanceof StoreError) return { kind: "unreadable", reason: error.message }
    throw error
  }
}
