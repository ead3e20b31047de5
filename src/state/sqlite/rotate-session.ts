import type { SessionId } from "../../protocol/identifiers.ts"
import { StoreError } from "../store.ts"
import type { KnownState, NewSession, SessionRow, StoredMessage } from "../store.ts"
import type { Database } from "./connection.ts"
import { removeFromIndexes } from "./full-text.ts"
import { text, textOrNull } from "./row-values.ts"
import { insertSession, endSession, readRevision, selectSession } from "./session-rows.ts"
import { freeTitle, nextTitle } from "./title-rows.ts"
import { appendMessages, recount } from "./transcript.ts"

/** After this time another process may take over the compression. */
const LOCK_SECONDS = 300

export interface Split {
  readonly parent: SessionId
  readonly child: NewSession
  readonly at: number
}

/**
 * Ends the parent with `compression` and creates its continuation. Overwrites another end reason of the parent: otherwise the child
 * would not count as a continuation, and both editions would hide it.
 */
export function rotate(
  db: Database,
  split: Split & { readonly known?: KnownState },
  messages: readonly StoredMessage[],
): readonly number[] {
  const parent = requireParent(db, split.parent)
  if (split.known !== undefined) requireNoRewrite(db, split.parent, split.known)
  const endedAt = parent.endReason === "compression" && parent.endedAt !== null ? parent.endedAt : split.at
  db.run("UPDATE sessions SET ended_at = ?, end_reason = 'compression' WHERE id = ?", endedAt, split.parent)
  insertSession(db, inherit(parent, split, { startedAt: Math.max(split.at, endedAt), modelConfig: {} }))
  if (parent.title !== null) setChildTitle(db, split.child.id, nextTitle(db, parent.title))
  const ids = appendMessages(db, { id: split.child.id, messages, at: split.at })
  if (split.known !== undefined) copyMessages(db, split, { after: split.known.lastMessageId })
  // Everything in the new session is in the old one too, or summarises it. Indexing it again would multiply the size of the
  // database with every compression, and a search would find each message several times.
  removeFromIndexes(db, split.child.id)
  return ids
}

/** Ends the parent with `branched` and copies its messages, up to `upTo`, to a child. Returns the title of the child. */
export function branch(
  db: Database,
  split: Split,
  { title, upTo }: { readonly title?: string; readonly upTo?: number },
): string {
  const parent = requireParent(db, split.parent)
  if (upTo !== undefined) requireMessage(db, split.parent, upTo)
  endSession(db, { id: split.parent, reason: "branched", at: split.at })
  const endedAt = parent.endedAt ?? split.at
  const modelConfig = { _branched_from: split.parent }
  insertSession(db, inherit(parent, split, { startedAt: Math.max(split.at, endedAt), modelConfig }))
  copyMessages(db, split, upTo === undefined ? {} : { upTo })
  const given = title === undefined ? undefined : freeTitle(db, title)
  const chosen = given ?? nextTitle(db, parent.title ?? "branch")
  setChildTitle(db, split.child.id, chosen)
  return chosen
}

/** Only one process may compress a session. The lock of a process that died expires. */
export function tryLockCompression(
  db: Database,
  lock: {
    readonly id: SessionId
    readonly holder: string
    readonly at: number
    readonly isGone?: (holder: string) => boolean
  },
): boolean {
  db.run("DELETE FROM compression_locks WHERE session_id = ? AND expires_at <= ?", lock.id, lock.at)
  const current = db.get("SELECT holder FROM compression_locks WHERE session_id = ?", lock.id)
  const other = current === undefined ? null : textOrNull(current, "holder")
  if (other !== null && lock.isGone?.(other) === true) releaseCompression(db, lock.id, other)
  db.run(
    `INSERT INTO compression_locks(session_id, holder, acquired_at, expires_at) VALUES (?, ?, ?, ?)
     ON CONFLICT(session_id) DO NOTHING`,
    lock.id,
    lock.holder,
    lock.at,
    lock.at + LOCK_SECONDS,
  )
  const row = db.get("SELECT holder FROM compression_locks WHERE session_id = ?", lock.id)
  return row !== undefined && textOrNull(row, "holder") === lock.holder
}

export function releaseCompression(db: Database, id: SessionId, holder: string): void {
  db.run("DELETE FROM compression_locks WHERE session_id = ? AND holder = ?", id, holder)
}

function requireMessage(db: Database, id: SessionId, message: number): void {
  const found = db.get("SELECT id FROM messages WHERE session_id = ? AND active = 1 AND id = ?", id, message)
  if (found === undefined) throw new StoreError("failed", `There is no message ${message} in session ${id}.`)
}

function requireParent(db: Database, id: SessionId): SessionRow {
  const parent = selectSession(db, id)
  if (parent === undefined) throw new StoreError("failed", `There is no session ${id} to continue from.`)
  return parent
}

/** Throws when the session was continued or rewound since `known`. Appended messages are fine: they are copied afterwards. */
function requireNoRewrite(db: Database, id: SessionId, known: KnownState): void {
  const current = readRevision(db, id)
  const { messageCount: added, rewinds } = known.revision
  if (current?.continued === false && current.rewinds === rewinds && current.messageCount >= added) return
  throw new StoreError("moved", `Session ${id} was changed by another process.`)
}

function copyMessages(
  db: Database,
  { parent, child }: Split,
  { after = 0, upTo = Number.MAX_SAFE_INTEGER }: { readonly after?: number; readonly upTo?: number },
): void {
  const columns = db
    .all("PRAGMA table_info(messages)")
    .map((row) => `"${text(row, "name")}"`)
    .filter((column) => column !== '"id"' && column !== '"session_id"')
    .join(", ")
  const copied = db.run(
    `INSERT INTO messages(session_id, ${columns})
     SELECT ?, ${columns} FROM messages WHERE session_id = ? AND active = 1 AND id > ? AND id <= ? ORDER BY id`,
    child.id,
    parent,
    after,
    upTo,
  )
  if (copied.changes > 0) recount(db, child.id)
}

/** Builds the child's row: the caller's values, or else the parent's. The source is always the parent's. */
function inherit(
  parent: SessionRow,
  split: Split,
  own: { readonly startedAt: number; readonly modelConfig: Readonly<Record<string, unknown>> },
): NewSession {
  const { child } = split
  const userId = child.userId ?? parent.userId ?? undefined
  const model = child.model ?? parent.model ?? undefined
  const cwd = child.cwd ?? parent.cwd ?? undefined
  const { _branched_from: _branch, _delegate_from: _delegate, ...inherited } = parent.modelConfig
  const modelConfig = { ...(child.modelConfig ?? inherited), ...own.modelConfig }
  return {
    id: child.id,
    source: parent.source,
    startedAt: own.startedAt,
    parent: split.parent,
    ...(userId === undefined ? {} : { userId }),
    ...(model === undefined ? {} : { model }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(child.systemPrompt === undefined ? {} : { systemPrompt: child.systemPrompt }),
    ...(Object.keys(modelConfig).length === 0 ? {} : { modelConfig }),
  }
}

function setChildTitle(db: Database, id: SessionId, title: string): void {
  db.run("UPDATE sessions SET title = ? WHERE id = ?", title, id)
}
