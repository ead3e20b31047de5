import { takeCodePoints } from "../../base/text.ts"
import { fallbackQuery, routeQuery, sanitizeQuery } from "../search-query.ts"
import type { SearchHit, MessageSearchOptions, StoreLogger } from "../store.ts"
import { contentPreview, decodeContent } from "../structured-content.ts"
import type { Database } from "./connection.ts"
import type { SearchState } from "./full-text.ts"
import { likeMatches } from "./like-search.ts"
import { BOUND_ROWID, messageFilter, pageOf } from "./message-filter.ts"
import type { Match, MessageFilter, Page } from "./message-filter.ts"
import { number, sessionId, text, textOrNull } from "./row-values.ts"
import type { Row } from "./row-values.ts"
import { isStatementError } from "./store-failure.ts"
import { timeSortedIds } from "./time-sorted-search.ts"

export interface SearchContext {
  readonly search: SearchState
  readonly log: StoreLogger
}

const CONTEXT_LENGTH = 200

export function searchMessages(
  db: Database,
  request: { readonly query: string; readonly options: MessageSearchOptions },
  context: SearchContext,
): readonly SearchHit[] {
  const { options, query } = request
  return findMatches(db, query, { options, context }).flatMap((match) => toHit(db, match, options))
}

interface Search {
  readonly options: MessageSearchOptions
  readonly context: SearchContext
}

function findMatches(db: Database, query: string, search: Search): readonly Match[] {
  const sanitized = sanitizeQuery(query)
  if (sanitized === "" || search.context.search === "none") return []
  const route = routeQuery(sanitized)
  if (route.kind === "words") return indexMatches(db, { table: "messages_fts", match: route.match, query }, search)
  if (route.kind === "trigrams" && search.context.search === "full") {
    return indexMatches(db, { table: "messages_fts_trigram", match: route.match, query }, search)
  }
  return likeMatches(db, route.tokens, {
    filter: messageFilter(search.options),
    page: pageOf(search.options),
    sort: search.options.sort,
  })
}

interface IndexQuery {
  readonly table: "messages_fts" | "messages_fts_trigram"
  readonly match: string
  /** As the user typed it, for the fallback. */
  readonly query: string
}

function indexMatches(db: Database, index: IndexQuery, search: Search): readonly Match[] {
  for (const match of [index.match, fallbackQuery(index.query)]) {
    if (match === "") continue
    try {
      return runMatch(db, { table: index.table, match }, search.options)
    } catch (error) {
      if (!isStatementError(error)) throw error
      // Its message quotes the query.
      search.context.log.debug("FTS5 rejected a query")
    }
  }
  return []
}

function runMatch(db: Database, index: Omit<IndexQuery, "query">, options: MessageSearchOptions): readonly Match[] {
  const filter = messageFilter(options)
  const page = pageOf(options)
  const ids =
    options.sort === undefined
      ? rankedIds(db, index, { filter, page })
      : timeSortedIds(db, index, { filter, page, sort: options.sort })
  return ids.map((id) => ({ id, snippet: () => snippetOf(db, index, id) }))
}

/** FTS5 returns rows in rank order, so the filters run only until the page is full. */
function rankedIds(
  db: Database,
  index: Omit<IndexQuery, "query">,
  request: { readonly filter: MessageFilter; readonly page: Page },
): readonly number[] {
  const { filter, page } = request
  return db
    .all(
      `SELECT f.rowid AS id FROM ${index.table} f CROSS JOIN messages m ON m.id = f.rowid
         CROSS JOIN sessions s ON s.id = m.session_id
       WHERE f.${index.table} MATCH ? ${filter.sql} ORDER BY f.rank LIMIT ? OFFSET ?`,
      index.match,
      ...filter.values,
      page.limit,
      page.offset,
    )
    .map((row) => number(row, "id"))
}

function snippetOf(db: Database, index: Omit<IndexQuery, "query">, id: number): string {
  const row = db.get(
    `SELECT snippet(${index.table}, 0, '>>>', '<<<', '...', 40) AS snippet FROM ${index.table}
     WHERE ${index.table} MATCH ? AND rowid = ${BOUND_ROWID}`,
    index.match,
    id,
  )
  return row === undefined ? "" : text(row, "snippet").replace("\u0000json:", "")
}

function toHit(db: Database, match: Match, options: MessageSearchOptions): readonly SearchHit[] {
  const row = db.get(
    `SELECT m.id, m.session_id, m.role, m.content, m.timestamp, m.tool_name, s.source, s.model, s.started_at
     FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.id = ?`,
    match.id,
  )
  if (row === undefined) return []
  return [
    {
      id: match.id,
      sessionId: sessionId(row, "session_id"),
      role: text(row, "role"),
      snippet: match.snippet(),
      timestamp: number(row, "timestamp"),
      toolName: textOrNull(row, "tool_name"),
      source: text(row, "source"),
      model: textOrNull(row, "model"),
      sessionStarted: number(row, "started_at"),
      context: options.withContext === false ? [] : contextOf(db, row, options),
    },
  ]
}

/** Returns the message before the hit, the hit, and the message after it. */
function contextOf(db: Database, hit: Row, options: MessageSearchOptions): SearchHit["context"] {
  const active = options.includeInactive === true ? "" : "AND active = 1"
  const neighbour = (comparison: "<" | ">", order: "ASC" | "DESC"): Row | undefined =>
    db.get(
      `SELECT role, content FROM messages
       WHERE session_id = ?1 AND timestamp ${comparison}= ?2 AND (timestamp, id) ${comparison} (?2, ?3) ${active}
       ORDER BY timestamp ${order}, id ${order} LIMIT 1`,
      text(hit, "session_id"),
      number(hit, "timestamp"),
      number(hit, "id"),
    )
  return [neighbour("<", "DESC"), hit, neighbour(">", "ASC")].flatMap((row) =>
    row === undefined ? [] : [{ role: text(row, "role"), text: shortText(row) }],
  )
}

function shortText(row: Row): string {
  return takeCodePoints(contentPreview(decodeContent(row["content"], () => undefined)), CONTEXT_LENGTH)
}
