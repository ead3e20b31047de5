import type { Database } from "./connection.ts"

/**
 * Two derived tables that make listing and time-sorted search independent of the size of the database. Triggers maintain them, so
 * they also cover writes of the Python edition.
 *
 * `session_activity`: when a session last got a message, or started.
 * `message_clock`: the earliest and latest time within each block of message ids. Times usually grow with the ids, but a clock may be
 * set back and branches copy old times. The bounds tell a scan along the ids when no better time can follow. Deleting messages leaves
 * bounds too wide, which costs time but not correctness.
 */
export const BLOCK_BITS = 9

const TRIGGERS: Readonly<Record<string, string>> = {
  session_activity_on_start: `AFTER INSERT ON sessions BEGIN
    INSERT INTO session_activity(session_id, last_at) VALUES (new.id, new.started_at)
      ON CONFLICT(session_id) DO UPDATE SET last_at = max(last_at, excluded.last_at);
  END`,
  session_activity_on_message: `AFTER INSERT ON messages BEGIN
    INSERT INTO session_activity(session_id, last_at) VALUES (new.session_id, new.timestamp)
      ON CONFLICT(session_id) DO UPDATE SET last_at = excluded.last_at WHERE excluded.last_at > last_at;
  END`,
  session_activity_on_message_delete: `AFTER DELETE ON messages
    WHEN old.timestamp >= (SELECT last_at FROM session_activity WHERE session_id = old.session_id) BEGIN
    UPDATE session_activity SET last_at = COALESCE(
      (SELECT max(timestamp) FROM messages WHERE session_id = old.session_id),
      (SELECT started_at FROM sessions WHERE id = old.session_id),
      last_at) WHERE session_id = old.session_id;
  END`,
  session_activity_on_delete: `AFTER DELETE ON sessions BEGIN
    DELETE FROM session_activity WHERE session_id = old.id;
  END`,
  message_clock_on_insert: `AFTER INSERT ON messages BEGIN
    INSERT INTO message_clock(block, min_at, max_at) VALUES (new.id >> ${BLOCK_BITS}, new.timestamp, new.timestamp)
      ON CONFLICT(block) DO UPDATE SET min_at = min(min_at, excluded.min_at), max_at = max(max_at, excluded.max_at)
      WHERE excluded.min_at < min_at OR excluded.max_at > max_at;
  END`,
}

export const DERIVED_DEFINITIONS: readonly string[] = Object.entries(TRIGGERS).map(
  ([name, body]) => `CREATE TRIGGER IF NOT EXISTS ${name} ${body}`,
)

/** Runs inside the caller's transaction. Rebuilds both tables when a trigger is missing, because it may have missed writes. */
export function setUpDerivedTables(db: Database): void {
  const names = Object.keys(TRIGGERS)
  const present = db.all(
    `SELECT name FROM sqlite_master WHERE type = 'trigger' AND name IN (${names.map(() => "?").join(", ")})`,
    ...names,
  )
  if (present.length === names.length) return
  for (const definition of DERIVED_DEFINITIONS) db.exec(definition)
  db.exec(`
    DELETE FROM session_activity;
    INSERT INTO session_activity(session_id, last_at)
      SELECT s.id, COALESCE((SELECT max(timestamp) FROM messages WHERE session_id = s.id), s.started_at) FROM sessions s;
    DELETE FROM message_clock;
    INSERT INTO message_clock(block, min_at, max_at)
      SELECT id >> ${BLOCK_BITS} AS block, min(timestamp), max(timestamp) FROM messages GROUP BY block;`)
}
