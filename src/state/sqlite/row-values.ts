import type { SQLOutputValue } from "node:sqlite"
import { isRecord, parseJson } from "../../base/json.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import type { SessionId } from "../../protocol/identifiers.ts"

export type Row = Readonly<Record<string, SQLOutputValue>>

/** SQLite does not enforce column types: another program may have stored a number in a TEXT column. */
export function textOrNull(row: Row, column: string): string | null {
  const value = row[column]
  if (value === null || value === undefined) return null
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : String(value)
}

export function text(row: Row, column: string): string {
  return textOrNull(row, column) ?? ""
}

export function numberOrNull(row: Row, column: string): number | null {
  const value = row[column]
  if (value === null || value === undefined || value instanceof Uint8Array) return null
  const number = Number(value)
  return Number.isNaN(number) ? null : number
}

export function number(row: Row, column: string): number {
  return numberOrNull(row, column) ?? 0
}

export function sessionId(row: Row, column = "id"): SessionId {
  return toSessionId(text(row, column))
}

export function sessionIdOrNull(row: Row, column: string): SessionId | null {
  const value = textOrNull(row, column)
  return value === null || value === "" ? null : toSessionId(value)
}

/** Decodes a column with a JSON object; an empty object when it holds anything else. */
export function jsonObject(row: Row, column: string): Readonly<Record<string, unknown>> {
  const value = textOrNull(row, column) ?? ""
  // Nearly all rows are empty here, and failing to parse nothing is slow.
  const decoded = value === "" ? undefined : parseJson(value)
  return isRecord(decoded) ? decoded : {}
}
