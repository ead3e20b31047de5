import { readdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { errorMessage, isNotFound } from "../../base/system-error.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { StoreLogger } from "../store.ts"
import type { Database } from "./connection.ts"
import { addToIndexes } from "./full-text.ts"
import { chainToTip, createRootFinder, newestContinuation } from "./lineage.ts"
import { numberOrNull, number, sessionId } from "./row-values.ts"
import { CONTINUATION_SQL, WITH_PARENT, hasMarkerSql } from "./session-kind.ts"

const DAY_SECONDS = 86_400
const EMPTY_TUI_AGE_SECONDS = DAY_SECONDS
const ORPHAN_IDLE_SECONDS = 7 * DAY_SECONDS

/** The session and its delegates, which are deleted together. Empty when there is no such session. */
export function deletedWith(db: Database, id: SessionId): readonly SessionId[] {
  const rows = db.all(
    `WITH RECURSIVE deleted(id) AS (
       SELECT id FROM sessions WHERE id = ?
       UNION SELECT s.id FROM sessions s JOIN deleted ON s.parent_session_id = deleted.id
       WHERE ${hasMarkerSql("s", "_delegate_from")})
     SELECT id FROM deleted`,
    id,
  )
  return rows.map((row) => sessionId(row))
}

/** Uses one conditional statement, so that a message written meanwhile keeps the session. */
export function deleteIfEmpty(db: Database, id: SessionId): boolean {
  return db.run(`DELETE FROM sessions WHERE id = ? AND ${IS_EMPTY}`, id).changes > 0
}

/** Deletes empty sessions of the terminal UI, and ends continuations that no process ever used. */
export function sweep(db: Database, now: number): void {
  db.run(`DELETE FROM sessions WHERE source = 'tui' AND started_at < ? AND ${IS_EMPTY}`, now - EMPTY_TUI_AGE_SECONDS)
  db.run(
    `UPDATE sessions SET ended_at = ?1, end_reason = 'orphaned_compression'
     WHERE id IN (SELECT s.id FROM ${WITH_PARENT} JOIN session_activity a ON a.session_id = s.id
       WHERE s.ended_at IS NULL AND COALESCE(s.api_call_count, 0) = 0 AND a.last_at < ?2 AND ${CONTINUATION_SQL})`,
    now,
    now - ORPHAN_IDLE_SECONDS,
  )
}

export interface PruneRequest {
  readonly olderThanDays: number
  readonly source?: string
  readonly now: number
}

/** Returns the ended sessions that started before the cutoff. A compressed conversation is pruned as a whole or not at all. */
export function pruneCandidates(db: Database, request: PruneRequest): readonly SessionId[] {
  const cutoff = request.now - request.olderThanDays * DAY_SECONDS
  const rows = db.all(
    `SELECT id FROM sessions WHERE ended_at IS NOT NULL AND started_at < ?1 AND (?2 IS NULL OR source = ?2)
     ORDER BY started_at, id`,
    cutoff,
    request.source ?? null,
  )
  const rootOfChain = createRootFinder(db)
  const old = new Map<SessionId, boolean>()
  return rows
    .map((row) => sessionId(row))
    .filter((id) => {
      const root = rootOfChain(id)
      const known = old.get(root) ?? tipIsOld(db, root, cutoff)
      old.set(root, known)
      return known
    })
}

/**
 * Deletes up to `limit` messages of a session, the newest first, and the session when none are left. Returns whether it is gone. A
 * session that was reopened in the meantime is left as it is.
 */
export function removeSome(db: Database, id: SessionId, limit: number): "gone" | "more" | "reopened" {
  const row = db.get("SELECT ended_at FROM sessions WHERE id = ?", id)
  if (row === undefined) return "gone"
  if (numberOrNull(row, "ended_at") === null) return "reopened"
  if (removeMessages(db, id, limit)) return "more"
  removeRows(db, [id])
  return "gone"
}

/** Deletes up to `limit` messages of a session, the newest first. Returns whether more may be left. */
export function removeMessages(db: Database, id: SessionId, limit: number): boolean {
  const { changes } = db.run(
    "DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE session_id = ? ORDER BY id DESC LIMIT ?)",
    id,
    limit,
  )
  return changes === limit
}

/** Deletes exactly these sessions. Children outside the set stay without a parent. */
export function removeRows(db: Database, ids: readonly SessionId[]): void {
  const deleted = new Set(ids)
  for (const id of ids) {
    // The copies that a compression made are not indexed; without the originals they must be found themselves.
    const continuation = newestContinuation(db, id)
    if (continuation !== undefined && !deleted.has(continuation)) addToIndexes(db, continuation)
    db.run("UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?", id)
  }
  for (const id of ids) {
    db.run("DELETE FROM messages WHERE session_id = ?", id)
    db.run("DELETE FROM compression_locks WHERE session_id = ?", id)
    db.run("DELETE FROM sessions WHERE id = ?", id)
  }
}

/** Deletes transcripts and request dumps that older versions stored next to the database. Best effort, because the rows are deleted. */
export function removeSessionFiles(databasePath: string, ids: readonly SessionId[], log: StoreLogger): void {
  const directory = join(dirname(databasePath), "sessions")
  // Ids may come from other programs: ignore those that could lead out of the directory.
  const safe = new Set<string>(ids.filter((id) => !/[/\\]/.test(id)))
  if (safe.size === 0) return
  try {
    for (const name of readdirSync(directory)) if (belongsTo(name, safe)) rmSync(join(directory, name), { force: true })
  } catch (error) {
    if (!isNotFound(error)) log.debug(`Files of deleted sessions remain in ${directory}: ${errorMessage(error)}`)
  }
}

const IS_EMPTY = `title IS NULL
  AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.session_id = sessions.id)
  AND NOT EXISTS (SELECT 1 FROM sessions child WHERE child.parent_session_id = sessions.id)`

function tipIsOld(db: Database, root: SessionId, cutoff: number): boolean {
  const tip = chainToTip(db, root).at(-1) ?? root
  const row = db.get("SELECT ended_at, started_at FROM sessions WHERE id = ?", tip)
  return row !== undefined && numberOrNull(row, "ended_at") !== null && number(row, "started_at") < cutoff
}

function belongsTo(name: string, ids: ReadonlySet<string>): boolean {
  const transcript = /^(.+)\.jsonl?$/.exec(name)?.[1]
  const dumped = /^request_dump_(.+)_[^_]*\.json$/.exec(name)?.[1]
  return (transcript !== undefined && ids.has(transcript)) || (dumped !== undefined && startsWithId(dumped, ids))
}

/** For `request_dump_<id>_<anything>.json`, where both parts may contain underscores. */
function startsWithId(name: string, ids: ReadonlySet<string>): boolean {
  return ids.has(name) || [...ids].some((id) => name.startsWith(`${id}_`))
}
