import type { SessionId } from "../../protocol/identifiers.ts"
import type { TitleOutcome } from "../store.ts"
import { cleanGeneratedTitle, cleanTitle, lineageBase, nextInLineage } from "../titles.ts"
import type { Database } from "./connection.ts"
import { sessionId, text, textOrNull } from "./row-values.ts"

/** Sets a title that the user chose. Rejects it when it is too long or belongs to another session. */
export function setTitle(db: Database, id: SessionId, title: string): TitleOutcome {
  const cleaned = cleanTitle(title)
  if (!cleaned.ok) return { kind: "too-long", ...cleaned.error }
  const owner = cleaned.value === null ? undefined : ownerOf(db, cleaned.value, id)
  if (owner !== undefined) return { kind: "taken", by: owner }
  const { changes } = db.run("UPDATE sessions SET title = ? WHERE id = ?", cleaned.value, id)
  return changes === 0 ? { kind: "no-session" } : { kind: "set", title: cleaned.value }
}

/** Sets a generated title, unless the session already has one. Returns the title of the session. */
export function setGeneratedTitle(db: Database, id: SessionId, title: string): string | undefined {
  const row = db.get("SELECT title FROM sessions WHERE id = ?", id)
  if (row === undefined) return undefined
  const present = textOrNull(row, "title")
  if (present !== null && present !== "") return present
  const free = freeTitle(db, title)
  if (free === undefined) return undefined
  db.run("UPDATE sessions SET title = ? WHERE id = ?", free, id)
  return free
}

/** Returns the title itself when it is free, else the next one of its lineage. */
export function freeTitle(db: Database, title: string): string | undefined {
  const cleaned = cleanGeneratedTitle(title)
  if (cleaned === null) return undefined
  return ownerOf(db, cleaned) === undefined ? cleaned : nextTitle(db, cleaned)
}

/** The session, other than `self`, that has this title or id. Commands accept both, so a title must not be the id of another session. */
function ownerOf(db: Database, title: string, self?: SessionId): SessionId | undefined {
  const row = db.get("SELECT id FROM sessions WHERE (title = ?1 OR id = ?1) AND id IS NOT ?2", title, self ?? null)
  return row === undefined ? undefined : sessionId(row)
}

export function nextTitle(db: Database, title: string): string {
  const base = lineageBase(title)
  const taken = db.all(`SELECT title FROM sessions WHERE title = ?1 OR ${NUMBERED}`, base)
  return nextInLineage(
    base,
    taken.map((row) => text(row, "title")),
  )
}

/** Finds the newest session with a numbered title, else the one with the exact title. */
export function resolveTitle(db: Database, title: string): SessionId | undefined {
  const cleaned = cleanGeneratedTitle(title)
  if (cleaned === null) return undefined
  const newest = db.get(`SELECT id FROM sessions WHERE ${NUMBERED} ORDER BY started_at DESC, id DESC LIMIT 1`, cleaned)
  return newest === undefined ? titleOwner(db, cleaned) : sessionId(newest)
}

/** Matches titles that start with `<?1> #` as a range, which needs no escaping. `$` is the character after `#`. */
const NUMBERED = "(title >= ?1 || ' #' AND title < ?1 || ' $')"

/** Finds the session with exactly this title. */
export function titleOwner(db: Database, title: string): SessionId | undefined {
  const row = db.get("SELECT id FROM sessions WHERE title = ?", title)
  return row === undefined ? undefined : sessionId(row)
}
