import type { SQLInputValue } from "node:sqlite"
import type { MessageScope } from "../../protocol/message-words.ts"
import type { MessageSearchOptions } from "../store.ts"

const DEFAULT_LIMIT = 20

/** Node binds every number as REAL, and FTS5 silently ignores a row id that is not an INTEGER. */
export const BOUND_ROWID = "CAST(? AS INTEGER)"

/** A matching message. The snippet is computed on demand. */
export interface Match {
  readonly id: number
  readonly snippet: () => string
}

export interface MessageFilter {
  /** Appended to a WHERE clause over `messages m` and `sessions s`. */
  readonly sql: string
  readonly values: readonly SQLInputValue[]
}

export interface Page {
  readonly limit: number
  readonly offset: number
}

export function pageOf(options: MessageSearchOptions): Page {
  return { limit: Math.max(0, options.limit ?? DEFAULT_LIMIT), offset: Math.max(0, options.offset ?? 0) }
}

export function messageFilter(options: MessageSearchOptions & Pick<MessageScope, "sessions">): MessageFilter {
  const lists: readonly (readonly [string, readonly string[] | undefined])[] = [
    ["s.source IN", options.sources],
    ["s.source NOT IN", options.excludeSources],
    ["m.role IN", options.roles],
    ["m.session_id IN", options.sessions],
  ]
  const given = lists.flatMap(([sql, values]) => (values === undefined || values.length === 0 ? [] : [{ sql, values }]))
  const bounds: readonly (readonly [string, number | undefined])[] = [
    ["AND m.timestamp >= ?", options.after],
    ["AND m.timestamp < ?", options.before],
  ]
  const times = bounds.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]))
  const active = options.includeInactive === true ? "" : "AND m.active = 1"
  const inLists = given.map(({ sql, values }) => `AND ${sql} (${values.map(() => "?").join(", ")})`)
  return {
    sql: [active, ...inLists, ...times.map(({ sql }) => sql)].join(" "),
    values: [...given.flatMap(({ values }) => values), ...times.map(({ value }) => value)],
  }
}
