import { codePointLength, takeCodePoints } from "../../base/text.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import { ELISION_NOTE_START } from "../../protocol/message.ts"
import type { ListOptions, SessionKind, SessionSummary } from "../store.ts"
import { contentPreview, decodeContent } from "../structured-content.ts"
import type { Database } from "./connection.ts"
import { chainToTip, createRootFinder } from "./lineage.ts"
import { number, numberOrNull, sessionId, text, textOrNull } from "./row-values.ts"
import type { Row } from "./row-values.ts"
import { KIND_COLUMNS, LISTABLE_SQL, WITH_PARENT, kindOf, lineageKind } from "./session-kind.ts"

const PREVIEW_LENGTH = 60

/** Lists conversations, or with `all` every session. */
export function selectSessions(db: Database, options: ListOptions): readonly SessionSummary[] {
  const rows = options.all === true ? everySession(db, options) : conversations(db, options)
  return rows.map((entry) => summarize(db, entry))
}

export function countConversations(db: Database, options: { readonly source?: string }): number {
  const filter = sourceFilter(options)
  const row = db.get(
    `SELECT count(*) AS found FROM ${WITH_PARENT} WHERE ${LISTABLE_SQL} ${filter.sql}`,
    ...filter.values,
  )
  return row === undefined ? 0 : number(row, "found")
}

/** Returns the session to resume of the most recently used conversation of these sources whose directory `accepts` takes. */
export function latestSession(
  db: Database,
  sources: readonly string[],
  accepts: (cwd: string | null) => boolean = () => true,
): SessionId | undefined {
  const hasMessages = (id: SessionId): boolean =>
    db.get("SELECT 1 FROM messages WHERE session_id = ? AND active = 1 LIMIT 1", id) !== undefined
  for (const entry of byLastActivity(db, { sources })) {
    if (!accepts(entry.cwd)) continue
    const tip = chainToTip(db, entry.root).findLast(hasMessages)
    if (tip !== undefined) return tip
  }
  return undefined
}

interface Entry {
  readonly root: SessionId
  readonly chain: readonly SessionId[]
  readonly kind: SessionKind
}

function conversations(db: Database, options: ListOptions): readonly Entry[] {
  const roots = options.orderBy === "started" ? byStart(db, options) : byLastActivity(db, options)
  return page(roots, options).map(({ root, kind }) => ({ root, kind, chain: chainToTip(db, root) }))
}

function everySession(db: Database, options: ListOptions): readonly Entry[] {
  const filter = sourceFilter(options)
  const order = options.orderBy === "started" ? "s.started_at" : "a.last_at"
  return db
    .all(
      `SELECT s.id, ${KIND_COLUMNS} FROM ${WITH_PARENT} JOIN session_activity a ON a.session_id = s.id
       WHERE TRUE ${filter.sql} ORDER BY ${order} DESC, s.id DESC LIMIT ? OFFSET ?`,
      ...filter.values,
      options.limit ?? -1,
      options.offset ?? 0,
    )
    .map((row) => ({ root: sessionId(row), kind: kindOf(row), chain: [sessionId(row)] }))
}

interface Root {
  readonly root: SessionId
  readonly kind: SessionKind
}

function* byStart(db: Database, options: ListOptions): Iterable<Root> {
  const filter = sourceFilter(options)
  const rows = db.iterate(
    `SELECT s.id, ${KIND_COLUMNS} FROM ${WITH_PARENT} WHERE ${LISTABLE_SQL} ${filter.sql}
     ORDER BY s.started_at DESC, s.id DESC`,
    ...filter.values,
  )
  for (const row of rows) yield { root: sessionId(row), kind: kindOf(row) }
}

/**
 * Iterates over sessions by last activity and yields the root of each conversation once. This orders conversations by the latest
 * activity anywhere in their chains, and a caller that stops early reads no more rows than it needs.
 */
function* byLastActivity(
  db: Database,
  options: SourceFilter,
): Iterable<Root & { /** The directory of its last used session. */ readonly cwd: string | null }> {
  const filter = sourceFilter(options)
  const rows = db.iterate(
    `SELECT s.id, s.cwd, ${KIND_COLUMNS} FROM session_activity a CROSS JOIN sessions s ON s.id = a.session_id
       LEFT JOIN sessions p ON p.id = s.parent_session_id
     WHERE TRUE ${filter.sql} ORDER BY a.last_at DESC, a.session_id DESC`,
    ...filter.values,
  )
  const rootOfChain = createRootFinder(db)
  const seen = new Set<SessionId>()
  for (const row of rows) {
    const root = rootOf(db, row, rootOfChain)
    if (root === undefined || seen.has(root.root)) continue
    seen.add(root.root)
    yield { ...root, cwd: textOrNull(row, "cwd") }
  }
}

function rootOf(db: Database, row: Row, rootOfChain: (id: SessionId) => SessionId): Root | undefined {
  let kind = kindOf(row)
  let root = sessionId(row)
  if (lineageKind(row) === "continuation") {
    root = rootOfChain(root)
    const rootRow = db.get(`SELECT ${KIND_COLUMNS} FROM ${WITH_PARENT} WHERE s.id = ?`, root)
    if (rootRow === undefined) return undefined
    kind = kindOf(rootRow)
  }
  return kind === "conversation" || kind === "branch" ? { root, kind } : undefined
}

function page(roots: Iterable<Root>, options: ListOptions): readonly Root[] {
  const first = options.offset ?? 0
  const end = options.limit === undefined ? Infinity : first + options.limit
  const taken: Root[] = []
  let index = 0
  if (end <= first) return taken
  for (const root of roots) {
    if (index >= first) taken.push(root)
    index += 1
    if (index >= end) break
  }
  return taken
}

function summarize(db: Database, entry: Entry): SessionSummary {
  const tip = entry.chain.at(-1) ?? entry.root
  const row = db.get("SELECT * FROM sessions WHERE id = ?", tip) ?? {}
  const startedAt = tip === entry.root ? number(row, "started_at") : startOf(db, entry.root)
  return {
    id: tip,
    lineageRoot: entry.root,
    kind: entry.kind,
    source: text(row, "source"),
    title: textOrNull(row, "title"),
    preview: previewOf(db, entry, tip),
    model: textOrNull(row, "model"),
    cwd: textOrNull(row, "cwd"),
    startedAt,
    endedAt: numberOrNull(row, "ended_at"),
    lastActivity: Math.max(startedAt, ...entry.chain.map((id) => lastActivityOf(db, id))),
    messageCount: number(row, "message_count"),
    toolCallCount: number(row, "tool_call_count"),
  }
}

function startOf(db: Database, id: SessionId): number {
  return number(db.get("SELECT started_at FROM sessions WHERE id = ?", id) ?? {}, "started_at")
}

function lastActivityOf(db: Database, id: SessionId): number {
  return number(db.get("SELECT last_at FROM session_activity WHERE session_id = ?", id) ?? {}, "last_at")
}

/** The first user message on one line. After a compression it may begin with a note; then the root has the user's words. */
function previewOf(db: Database, { root }: Entry, tip: SessionId): string {
  const first = firstUserText(db, tip)
  const line = (first.startsWith(ELISION_NOTE_START) ? firstUserText(db, root) : first)
    .replace(/\s*[\r\n]+\s*/g, " ")
    .trim()
  return codePointLength(line) > PREVIEW_LENGTH ? `${takeCodePoints(line, PREVIEW_LENGTH)}...` : line
}

/** SQL truncates plain text; structured content starts with a NUL, so its length is 0 there. */
function firstUserText(db: Database, id: SessionId): string {
  const row = db.get(
    `SELECT CASE WHEN length(content) = 0 THEN content ELSE substr(content, 1, 400) END AS content
     FROM messages WHERE session_id = ? AND active = 1 AND role = 'user' ORDER BY timestamp, id LIMIT 1`,
    id,
  )
  return contentPreview(decodeContent(row?.["content"], () => undefined))
}

interface SourceFilter {
  readonly source?: string
  readonly sources?: readonly string[]
  readonly excludeSources?: readonly string[]
}

function sourceFilter(options: SourceFilter): { readonly sql: string; readonly values: readonly string[] } {
  const sources = options.source === undefined ? options.sources : [options.source]
  const clauses: string[] = []
  const values: string[] = []
  const add = (operator: string, list: readonly string[]): void => {
    clauses.push(`AND s.source ${operator} (${list.map(() => "?").join(", ")})`)
    values.push(...list)
  }
  if (sources !== undefined) add("IN", sources)
  if (options.excludeSources !== undefined && options.excludeSources.length > 0) add("NOT IN", options.excludeSources)
  return { sql: clauses.join(" "), values }
}
