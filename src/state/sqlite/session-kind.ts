import type { SessionKind } from "../store.ts"
import { jsonObject, number, numberOrNull, textOrNull } from "./row-values.ts"
import type { Row } from "./row-values.ts"

/** The columns that `kindOf` needs, for queries over `WITH_PARENT`. */
export const KIND_COLUMNS = `s.parent_session_id, s.model_config, s.archived, s.started_at,
  p.end_reason AS parent_end_reason, p.ended_at AS parent_ended_at`

export const WITH_PARENT = "sessions s LEFT JOIN sessions p ON p.id = s.parent_session_id"

/** The marker of a session that the user branched (`_branched_from`) or the agent started (`_delegate_from`). */
export function hasMarkerSql(alias: string, marker: "_branched_from" | "_delegate_from"): string {
  const column = `${alias}.model_config`
  // Searching for the word first avoids parsing the JSON of almost every row.
  return `(CASE WHEN instr(${column}, '${marker}') > 0 AND json_valid(${column})
    THEN json_extract(${column}, '$.${marker}') END IS NOT NULL)`
}

/** True for a child that continues a compressed parent, but not for children from before the compression. */
export const CONTINUATION_SQL = `(p.end_reason = 'compression' AND s.started_at >= p.ended_at
  AND NOT ${hasMarkerSql("s", "_branched_from")} AND NOT ${hasMarkerSql("s", "_delegate_from")})`

/** True for conversations that lists show. The same rule as in `kindOf`, for counting and filtering. */
export const LISTABLE_SQL = `(s.archived = 0 AND NOT ${hasMarkerSql("s", "_delegate_from")}
  AND (s.parent_session_id IS NULL OR ${hasMarkerSql("s", "_branched_from")}
    OR (p.end_reason = 'branched' AND p.ended_at <= s.started_at)))`

export function kindOf(row: Row): SessionKind {
  if (number(row, "archived") !== 0) return "archived"
  return lineageKind(row)
}

/** The relation of a session to its parent, archived or not. */
export function lineageKind(row: Row): Exclude<SessionKind, "archived"> {
  const config = jsonObject(row, "model_config")
  if (isSet(config["_delegate_from"])) return "delegate"
  if (isSet(config["_branched_from"])) return "branch"
  if (textOrNull(row, "parent_session_id") === null) return "conversation"
  const parentEnd = numberOrNull(row, "parent_ended_at")
  const startedAfter = parentEnd !== null && number(row, "started_at") >= parentEnd
  const reason = textOrNull(row, "parent_end_reason")
  if (startedAfter && reason === "compression") return "continuation"
  return startedAfter && reason === "branched" ? "branch" : "child"
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}
