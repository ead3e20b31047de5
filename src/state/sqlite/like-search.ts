import type { SQLInputValue } from "node:sqlite"
import { codePointLength, takeCodePoints } from "../../base/text.ts"
import type { LikeTokens } from "../search-query.ts"
import { contentPreview, decodeContent } from "../structured-content.ts"
import type { Database } from "./connection.ts"
import type { Match, MessageFilter, Page } from "./message-filter.ts"
import { number, text } from "./row-values.ts"
import type { Row } from "./row-values.ts"

const COLUMNS = ["content", "tool_name", "tool_calls"] as const
const SNIPPET = { length: 120, before: 40 }

interface Request {
  readonly filter: MessageFilter
  readonly page: Page
  readonly sort: "newest" | "oldest" | undefined
}

/** Searches without an index. Returns the rows with the most tokens first, then the newest. */
export function likeMatches(db: Database, tokens: LikeTokens, request: Request): readonly Match[] {
  if (tokens.included.length === 0) return []
  const included = tokens.included.map(containsToken)
  const excluded = tokens.excluded.map(containsToken)
  const score = included.map((clause) => `COALESCE(${clause.sql}, 0)`).join(" + ")
  const time = `m.timestamp ${request.sort === "oldest" ? "ASC" : "DESC"}`
  const order = request.sort === undefined ? `matched DESC, ${time}` : `${time}, matched DESC`
  const rows = db.all(
    `SELECT m.id, m.content, m.tool_name, m.tool_calls, ${score} AS matched
     FROM messages m JOIN sessions s ON s.id = m.session_id
     WHERE (${included.map((clause) => clause.sql).join(" OR ")})
       ${excluded.map((clause) => `AND NOT COALESCE(${clause.sql}, 0)`).join(" ")} ${request.filter.sql}
     ORDER BY ${order}, m.id DESC LIMIT ? OFFSET ?`,
    ...included.flatMap((clause) => clause.values),
    ...included.flatMap((clause) => clause.values),
    ...excluded.flatMap((clause) => clause.values),
    ...request.filter.values,
    request.page.limit,
    request.page.offset,
  )
  return rows.map((row) => ({ id: number(row, "id"), snippet: () => snippetOf(row, tokens.included) }))
}

interface Clause {
  readonly sql: string
  readonly values: readonly SQLInputValue[]
}

/**
 * LIKE stops at the NUL that starts structured content, and `instr` is case-sensitive. A token with Latin letters is therefore matched
 * with both.
 */
function containsToken(token: string): Clause {
  const literal = COLUMNS.map((column) => `instr(m.${column}, ?) > 0`)
  const values = COLUMNS.map(() => token)
  if (!/[a-z]/i.test(token)) return { sql: `(${literal.join(" OR ")})`, values }
  const pattern = `%${token.replace(/[\\%_]/g, "\\$&")}%`
  const like = COLUMNS.map((column) => `m.${column} LIKE ? ESCAPE '\\'`)
  return { sql: `(${[...literal, ...like].join(" OR ")})`, values: [...values, ...COLUMNS.map(() => pattern)] }
}

function snippetOf(row: Row, tokens: readonly string[]): string {
  const fields = [
    contentPreview(decodeContent(row["content"], () => undefined)),
    text(row, "tool_name"),
    text(row, "tool_calls"),
  ]
  for (const field of fields) {
    const lower = field.toLowerCase()
    const hits = tokens.map((token) => lower.indexOf(token.toLowerCase())).filter((position) => position >= 0)
    if (hits.length === 0) continue
    const characters = Array.from(field)
    const start = Math.max(0, codePointLength(field.slice(0, Math.min(...hits))) - SNIPPET.before)
    return characters.slice(start, start + SNIPPET.length).join("")
  }
  return takeCodePoints(fields[0] ?? "", SNIPPET.length)
}
