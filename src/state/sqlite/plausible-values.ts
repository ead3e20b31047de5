import type { StoredValue } from "./file-format/record.ts"

/**
 * A damaged page can contain rows with values of another type, or numbers that no reader can represent. These rules tell them from rows
 * of Hermes, by the definition of the column in schema.ts. A column of another program accepts everything.
 */
export function isPlausible(value: StoredValue, definition: string): boolean {
  if (isRowIdAlias(definition)) return value === null
  if (value === null) return !/^\w+ (NOT NULL|PRIMARY KEY)/.test(definition)
  if (definition.startsWith("TEXT")) return typeof value === "string"
  if (definition.startsWith("INTEGER")) return typeof value === "bigint" && isSafe(value)
  if (definition.startsWith("REAL NOT NULL")) return isTime(value)
  if (definition.startsWith("REAL")) return typeof value === "bigint" || typeof value === "number"
  return true
}

/** Such a column is stored as the id of the row, and as NULL in its record. */
export function isRowIdAlias(definition: string): boolean {
  return definition.startsWith("INTEGER PRIMARY KEY")
}

/** The same as a condition of a SELECT. */
export function plausibleSql(column: string, definition: string): string {
  if (/^TEXT (NOT NULL|PRIMARY KEY)/.test(definition)) return ` AND typeof(${column}) = 'text'`
  if (definition.startsWith("REAL NOT NULL")) return ` AND ${column} BETWEEN 0 AND ${MAX_EPOCH_SECONDS}`
  if (!definition.startsWith("INTEGER")) return ""
  const { MIN_SAFE_INTEGER: min, MAX_SAFE_INTEGER: max } = Number
  return ` AND (typeof(${column}) <> 'integer' OR ${column} BETWEEN ${min} AND ${max})`
}

/** Within what `Date` can represent. All required numbers are times. */
const MAX_EPOCH_SECONDS = 1e11

function isTime(value: StoredValue): boolean {
  return (typeof value === "bigint" || typeof value === "number") && value >= 0 && value <= MAX_EPOCH_SECONDS
}

function isSafe(value: bigint): boolean {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
}
