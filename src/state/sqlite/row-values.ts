import type { SQLOutputValue } from "node:sqlite"
import { isRecord, parseJson } from "../../base/json.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import type { SessionId } from "../../protocol/identifiers.ts"

export type Row = Readonly<Record<string, SQLOutputValue>>

/** SQLite types values, not columns: a foreign writer may have put a number into a TEXT column. */
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

/** A JSON object column; anything else, undecodable text included, reads as an empty object. */
export function jsonObject(row: Row, column: string): Readonly<Record<string, unknown>> {
  const decoded = parseJson(textOrNull(row, column) ?? "")
  return isRecord(decoded) ? decoded : {}
}
