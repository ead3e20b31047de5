import type { SessionId } from "../../protocol/identifiers.ts"
import type { LineageNode } from "../store.ts"
import type { Database } from "./connection.ts"
import { number, sessionId, sessionIdOrNull, textOrNull } from "./row-values.ts"
import type { Row } from "./row-values.ts"
import { CONTINUATION_SQL, KIND_COLUMNS, WITH_PARENT, hasMarkerSql, kindOf, lineageKind } from "./session-kind.ts"
import { resolveTitle } from "./title-rows.ts"

/** How far `resumeTarget` looks for messages below a session without any. */
const MAX_EMPTY_STEPS = 32

/** Returns this session and its continuations, oldest first. Only a cycle in a damaged database ends the walk early. */
export function chainToTip(db: Database, id: SessionId): readonly SessionId[] {
  const chain = new Set([id])
  for (let current: SessionId | undefined = id; current !== undefined;) {
    current = newestContinuation(db, current)
    if (current === undefined || chain.has(current)) break
    chain.add(current)
  }
  return [...chain]
}

/** The session that continues this one after a compression. */
export function newestContinuation(db: Database, id: SessionId): SessionId | undefined {
  const row = db.get(
    `SELECT s.id FROM ${WITH_PARENT} WHERE s.parent_session_id = ? AND ${CONTINUATION_SQL}
     ORDER BY s.started_at DESC, s.id DESC LIMIT 1`,
    id,
  )
  return row === undefined ? undefined : sessionId(row)
}

export function compressionTip(db: Database, id: SessionId): SessionId {
  return chainToTip(db, id).at(-1) ?? id
}

/** Returns the compressed sessions that this one continues, oldest first. */
export function continuationAncestors(db: Database, id: SessionId): readonly SessionId[] {
  const seen = new Set([id])
  for (let current: SessionId | undefined = id; current !== undefined;) {
    current = continuedSession(db, current)
    if (current === undefined || seen.has(current)) break
    seen.add(current)
  }
  return [...seen].slice(1).toReversed()
}

/**
 * Returns a function that finds the first session of a compression chain. It remembers the root of every session on the way, so that
 * a walk over all sessions visits each of a long chain once.
 */
export function createRootFinder(db: Database): (id: SessionId) => SessionId {
  const roots = new Map<SessionId, SessionId>()
  return (id) => {
    const path = new Set<SessionId>()
    let root = id
    for (let current: SessionId | undefined = id; current !== undefined && !path.has(current);) {
      root = current
      const known = roots.get(current)
      if (known !== undefined) {
        root = known
        break
      }
      path.add(current)
      current = continuedSession(db, current)
    }
    for (const visited of path) roots.set(visited, root)
    return root
  }
}

/** The compressed session that this one continues. */
function continuedSession(db: Database, id: SessionId): SessionId | undefined {
  const row = db.get(`SELECT ${KIND_COLUMNS} FROM ${WITH_PARENT} WHERE s.id = ?`, id)
  if (row === undefined || lineageKind(row) !== "continuation") return undefined
  return sessionIdOrNull(row, "parent_session_id") ?? undefined
}

/** Finds a session by exact id or unique id prefix. */
export function resolveId(db: Database, idOrPrefix: string): SessionId | undefined {
  return exactId(db, idOrPrefix) ?? uniquePrefix(db, idOrPrefix)
}

export function resumeTarget(db: Database, nameOrId: string): SessionId | undefined {
  const found = exactId(db, nameOrId) ?? resolveTitle(db, nameOrId) ?? uniquePrefix(db, nameOrId)
  return found === undefined ? undefined : firstWithMessages(db, compressionTip(db, found))
}

/** Returns all sessions related to this one, or all sessions, by start time. */
export function lineage(db: Database, id: SessionId | undefined): readonly LineageNode[] {
  const columns = `s.id, s.title, s.message_count, s.end_reason, ${KIND_COLUMNS}`
  if (id === undefined) {
    return db.all(`SELECT ${columns} FROM ${WITH_PARENT} ORDER BY s.started_at, s.id`).map(toNode)
  }
  const rows = db.all(
    `WITH RECURSIVE tree(id) AS (
       SELECT ? UNION SELECT c.id FROM sessions c JOIN tree ON c.parent_session_id = tree.id)
     SELECT ${columns} FROM ${WITH_PARENT} WHERE s.id IN (SELECT id FROM tree) ORDER BY s.started_at, s.id`,
    lineageRoot(db, id),
  )
  return rows.map(toNode)
}

/** Returns the oldest ancestor, through continuations, branches and delegates. */
export function lineageRoot(db: Database, id: SessionId): SessionId {
  const seen = new Set<SessionId>()
  let root = id
  for (let current: SessionId | null = id; current !== null && !seen.has(current);) {
    const row = db.get("SELECT parent_session_id FROM sessions WHERE id = ?", current)
    if (row === undefined) break
    root = current
    seen.add(current)
    current = sessionIdOrNull(row, "parent_session_id")
  }
  return root
}

/** Archives or restores a whole conversation: all sessions of its compression chain. */
export function setArchived(db: Database, id: SessionId, archived: boolean): void {
  const root = continuationAncestors(db, id)[0] ?? id
  db.run(
    `WITH RECURSIVE chain(id) AS (
       SELECT ?1 UNION
       SELECT s.id FROM ${WITH_PARENT} JOIN chain ON s.parent_session_id = chain.id WHERE ${CONTINUATION_SQL})
     UPDATE sessions SET archived = ?2 WHERE id IN (SELECT id FROM chain)`,
    root,
    archived ? 1 : 0,
  )
}

function exactId(db: Database, id: string): SessionId | undefined {
  const row = db.get("SELECT id FROM sessions WHERE id = ?", id)
  return row === undefined || id === "" ? undefined : sessionId(row)
}

function uniquePrefix(db: Database, prefix: string): SessionId | undefined {
  const [only, second] = idsWithPrefix(db, prefix, 2)
  return second === undefined ? only : undefined
}

/** Uses a range instead of LIKE: it has no wildcards to escape, and it uses the primary key. */
export function idsWithPrefix(db: Database, prefix: string, limit: number): readonly SessionId[] {
  if (prefix === "") return []
  const rows = db.all(
    "SELECT id FROM sessions WHERE id >= ?1 AND id < ?1 || char(0x10FFFF) ORDER BY id DESC LIMIT ?2",
    prefix,
    limit,
  )
  return rows.map((row) => sessionId(row))
}

/** Older versions may have left an empty session whose child has the messages. */
function firstWithMessages(db: Database, id: SessionId): SessionId {
  let current = id
  for (let step = 0; step <= MAX_EMPTY_STEPS; step += 1) {
    if (hasMessages(db, current)) return current
    const child = db.get(
      `SELECT s.id FROM sessions s WHERE s.parent_session_id = ? AND NOT ${hasMarkerSql("s", "_delegate_from")}
       ORDER BY s.started_at DESC, s.id DESC LIMIT 1`,
      current,
    )
    if (child === undefined) return id
    current = sessionId(child)
  }
  return id
}

function hasMessages(db: Database, id: SessionId): boolean {
  return db.get("SELECT 1 FROM messages WHERE session_id = ? AND active = 1 LIMIT 1", id) !== undefined
}

function toNode(row: Row): LineageNode {
  return {
    id: sessionId(row),
    parent: sessionIdOrNull(row, "parent_session_id"),
    kind: kindOf(row),
    title: textOrNull(row, "title"),
    startedAt: number(row, "started_at"),
    messageCount: number(row, "message_count"),
    endReason: textOrNull(row, "end_reason"),
  }
}
