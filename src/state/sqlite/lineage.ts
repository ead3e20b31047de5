import type { SessionId } from "../../protocol/identifiers.ts"
import type { LineageNode } from "../store.ts"
import type { Database } from "./connection.ts"
import { number, sessionId, sessionIdOrNull, textOrNull } from "./row-values.ts"
import type { Row } from "./row-values.ts"
import { CONTINUATION_SQL, KIND_COLUMNS, WITH_PARENT, hasMarkerSql, kindOf, lineageKind } from "./session-kind.ts"
import { resolveTitle } from "./title-rows.ts"

/** A longer chain is a cycle in a damaged database. */
const MAX_CHAIN = 100
const MAX_DEPTH = 1000
const MAX_EMPTY_STEPS = 32

/** Returns this session and its continuations, oldest first. */
export function chainToTip(db: Database, id: SessionId): readonly SessionId[] {
  const chain = [id]
  while (chain.length <= MAX_CHAIN) {
    const next = db.get(
      `SELECT s.id FROM ${WITH_PARENT} WHERE s.parent_session_id = ? AND ${CONTINUATION_SQL}
       ORDER BY s.started_at DESC, s.id DESC LIMIT 1`,
      chain.at(-1) ?? id,
    )
    if (next === undefined || chain.includes(sessionId(next))) break
    chain.push(sessionId(next))
  }
  return chain
}

export function compressionTip(db: Database, id: SessionId): SessionId {
  return chainToTip(db, id).at(-1) ?? id
}

/** Returns the compressed sessions that this one continues, oldest first. */
export function continuationAncestors(db: Database, id: SessionId): readonly SessionId[] {
  const ancestors: SessionId[] = []
  let current = id
  while (ancestors.length < MAX_CHAIN) {
    const row = db.get(`SELECT ${KIND_COLUMNS} FROM ${WITH_PARENT} WHERE s.id = ?`, current)
    const parent = row === undefined ? null : sessionIdOrNull(row, "parent_session_id")
    if (row === undefined || parent === null || lineageKind(row) !== "continuation" || ancestors.includes(parent)) break
    ancestors.unshift(parent)
    current = parent
  }
  return ancestors
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
  const row = db.get(
    `WITH RECURSIVE up(id, parent, depth) AS (
       SELECT id, parent_session_id, 0 FROM sessions WHERE id = ?
       UNION SELECT a.id, a.parent_session_id, depth + 1 FROM sessions a JOIN up ON a.id = up.parent WHERE depth < ${MAX_DEPTH})
     SELECT id FROM up ORDER BY depth DESC LIMIT 1`,
    id,
  )
  return row === undefined ? id : sessionId(row)
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

/** Uses a range instead of LIKE: it has no wildcards to escape, and it uses the primary key. */
function uniquePrefix(db: Database, prefix: string): SessionId | undefined {
  if (prefix === "") return undefined
  const rows = db.all("SELECT id FROM sessions WHERE id >= ?1 AND id < ?1 || char(0x10FFFF) LIMIT 2", prefix)
  const [only] = rows
  return only !== undefined && rows.length === 1 ? sessionId(only) : undefined
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
