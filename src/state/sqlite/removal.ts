import { readdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { errorMessage, isNotFound } from "../../base/system-error.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { StoreLog } from "../store.ts"
import type { Database } from "./connection.ts"
import { chainToTip, continuationAncestors } from "./lineage.ts"
import { numberOrNull, number, sessionId } from "./row-values.ts"
import { CONTINUATION_SQL, WITH_PARENT, hasMarkerSql } from "./session-kind.ts"

const DAY_SECONDS = 86_400
const EMPTY_TUI_AGE_SECONDS = DAY_SECONDS
const ORPHAN_IDLE_SECONDS = 7 * DAY_SECONDS

/** Removes a session and the delegates it started, detaches its other children. Gives what is gone. */
export function deleteSession(db: Database, id: SessionId): readonly SessionId[] {
  const rows = db.all(
    `WITH RECURSIVE doomed(id) AS (
       SELECT id FROM sessions WHERE id = ?
       UNION SELECT s.id FROM sessions s JOIN doomed ON s.parent_session_id = doomed.id
       WHERE ${hasMarkerSql("s", "_delegate_from")})
     SELECT id FROM doomed`,
    id,
  )
  const doomed = rows.map((row) => sessionId(row))
  removeRows(db, doomed)
  return doomed
}

/** One conditional statement: a message that arrives meanwhile keeps the session. */
export function deleteIfEmpty(db: Database, id: SessionId): boolean {
  return db.run(`DELETE FROM sessions WHERE id = ? AND ${IS_EMPTY}`, id).changes > 0
}

/** What no process is going to finish any more: empty terminal rows and continuations nobody ever used. */
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

/**
 * Sessions that ended and started long ago. A compressed conversation goes as a whole or not at all: while its tip is
 * young or open, its beginning stays.
 */
export function pruneCandidates(db: Database, request: PruneRequest): readonly SessionId[] {
  const cutoff = request.now - request.olderThanDays * DAY_SECONDS
  const rows = db.all(
    `SELECT id FROM sessions WHERE ended_at IS NOT NULL AND started_at < ?1 AND (?2 IS NULL OR source = ?2)
     ORDER BY started_at, id`,
    cutoff,
    request.source ?? null,
  )
  return rows.map((row) => sessionId(row)).filter((id) => tipIsOld(db, id, cutoff))
}

/** Removes exactly these; children outside the set stay and lose their parent. */
export function removeRows(db: Database, ids: readonly SessionId[]): void {
  for (const id of ids) db.run("UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?", id)
  for (const id of ids) {
    db.run("DELETE FROM messages WHERE session_id = ?", id)
    db.run("DELETE FROM compression_locks WHERE session_id = ?", id)
    db.run("DELETE FROM sessions WHERE id = ?", id)
  }
}

/** Transcripts and request dumps that older versions kept beside the database. Best effort: the rows are gone already. */
export function removeSessionFiles(databasePath: string, ids: readonly SessionId[], log: StoreLog): void {
  const folder = join(dirname(databasePath), "sessions")
  // An id is opaque text of another writer: one that could leave the folder names no file.
  const safe = new Set<string>(ids.filter((id) => !/[/\\]/.test(id)))
  if (safe.size === 0) return
  try {
    for (const name of readdirSync(folder)) if (belongsTo(name, safe)) rmSync(join(folder, name), { force: true })
  } catch (error) {
    if (!isNotFound(error)) log.debug(`Files of deleted sessions remain in ${folder}: ${errorMessage(error)}`)
  }
}

const IS_EMPTY = `title IS NULL
  AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.session_id = sessions.id)
  AND NOT EXISTS (SELECT 1 FROM sessions child WHERE child.parent_session_id = sessions.id)`

function tipIsOld(db: Database, id: SessionId, cutoff: number): boolean {
  const root = continuationAncestors(db, id)[0] ?? id
  const tip = chainToTip(db, root).at(-1) ?? id
  const row = db.get("SELECT ended_at, started_at FROM sessions WHERE id = ?", tip)
  return row !== undefined && numberOrNull(row, "ended_at") !== null && number(row, "started_at") < cutoff
}

function belongsTo(name: string, ids: ReadonlySet<string>): boolean {
  const transcript = /^(.+)\.jsonl?$/.exec(name)?.[1]
  const dumped = /^request_dump_(.+)_[^_]*\.json$/.exec(name)?.[1]
  return (transcript !== undefined && ids.has(transcript)) || (dumped !== undefined && startsWithId(dumped, ids))
}

/** `request_dump_<id>_<anything>.json`: both parts may hold underscores. */
function startsWithId(name: string, ids: ReadonlySet<string>): boolean {
  return ids.has(name) || [...ids].some((id) => name.startsWith(`${id}_`))
}
