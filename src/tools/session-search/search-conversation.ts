import { isRecord, parseJson } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import { fingerprint } from "../../base/random-and-hash.ts"
import { searchPassages } from "../../knowledge/semantic-search/search-passages.ts"
import { createLexicon } from "../../knowledge/semantic-search/lexicon.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { MessageRow } from "../../state/store.ts"
import type { PastSessions } from "../../toolkit/ports/sessions.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import type { SearchRequest } from "./search-request.ts"
import { conversationSessions } from "./conversation-sessions.ts"
import { isoTime } from "./message-fields.ts"

const PASSAGE_CHARS = 1200

/** Calls and results of this tool repeat the query, so they are not searched. */
const OWN_NAME = "session_search"

/**
 * Searches one conversation, including what compressions removed: all messages of the session, of the sessions it continues and of
 * those that continue it.
 */
export async function searchConversation(
  store: PastSessions,
  target: { readonly session: SessionId; readonly running: SessionId | undefined },
  request: SearchRequest,
): Promise<ToolResult> {
  const chain = await conversationSessions(store, target.session)
  const rows = await originals(store, chain, target.running)
  const candidates = rows.filter((row) => matchesRequest(row, request))
  const passages = await searchPassages(request.query, candidates.map(searchedText), createLexicon())
  const found = passages.map((passage) => ({ passage, row: candidates[passage.text] }))
  const sorted = request.sort === undefined ? found : found.toSorted((a, b) => byTime(a.row, b.row, request.sort))
  const page = sorted.slice(request.offset, request.offset + request.limit)
  const results = page.flatMap(({ passage, row }) => (row === undefined ? [] : [hitFields(row, passage.passage)]))
  const left = found.length - request.offset - results.length
  return {
    content: {
      success: true,
      mode: "search",
      query: request.query,
      session_id: target.session,
      results,
      count: results.length,
      sessions_searched: chain.length,
      message: hint(results.length, left, request),
    },
    summary: `${results.length} messages found in ${target.session}`,
  }
}

/** Each message once, although compressions copy messages; without synthetic messages and the current turn. */
async function originals(
  store: PastSessions,
  chain: readonly SessionId[],
  running: SessionId | undefined,
): Promise<readonly MessageRow[]> {
  const found: MessageRow[] = []
  const seen = new Set<string>()
  for (const id of chain) {
    const rows = await store.messages(id)
    const asked = id === running ? rows.findLastIndex((row) => row.role === "user" && !isSynthetic(row)) : -1
    for (const row of asked === -1 ? rows : rows.slice(0, asked)) {
      const key = fingerprint(`${row.role} ${searchedText(row)}`)
      if (row.toolName === OWN_NAME || isSynthetic(row) || seen.has(key)) continue
      seen.add(key)
      found.push(row)
    }
  }
  return found
}

function isSynthetic({ message }: MessageRow): boolean {
  if (message === undefined || message.role === "system") return false
  return message.synthetic !== undefined || message.compressed_summary === true
}

function matchesRequest(row: MessageRow, { roles, after, before }: SearchRequest): boolean {
  if (roles !== undefined && !roles.includes(row.role)) return false
  return (after === undefined || row.timestamp >= after) && (before === undefined || row.timestamp < before)
}

/** The text of a message and the arguments of its tool calls. */
function searchedText({ text, message }: MessageRow): string {
  const calls = message?.role === "assistant" ? (message.tool_calls ?? []) : []
  const callTexts = calls.flatMap((call) =>
    call.function.name === OWN_NAME ? [] : [`${call.function.name} ${withoutEscapes(call.function.arguments)}`],
  )
  return [withoutEscapes(text), ...callTexts].join("\n")
}

/**
 * Results and arguments are JSON on one line, in which an escaped `\n` would join the next word. Notes that were added to a result
 * are on separate lines.
 */
function withoutEscapes(text: string): string {
  const lineEnd = text.indexOf("\n")
  const first = lineEnd === -1 ? text : text.slice(0, lineEnd)
  const value = /^[[{]/u.test(first) ? parseJson(first) : undefined
  return value === undefined ? text : `${leavesOf(value).join("\n")}${text.slice(first.length)}`
}

function leavesOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(leavesOf)
  if (!isRecord(value)) return [typeof value === "string" ? value : JSON.stringify(value)]
  return Object.entries(value).flatMap(([key, inner]) => {
    const [opening = "", ...more] = leavesOf(inner)
    return [`${key}: ${opening}`, ...more]
  })
}

function byTime(a: MessageRow | undefined, b: MessageRow | undefined, sort: "newest" | "oldest" | undefined): number {
  const order = (a?.timestamp ?? 0) - (b?.timestamp ?? 0)
  return sort === "newest" ? -order : order
}

function hitFields(row: MessageRow, passage: string): Readonly<Record<string, unknown>> {
  return {
    session_id: row.sessionId,
    match_message_id: row.id,
    matched_role: row.role,
    when: isoTime(row.timestamp),
    ...(row.toolName !== null && { tool_name: row.toolName }),
    snippet: ellipsize(passage, PASSAGE_CHARS, "…"),
  }
}

function hint(shown: number, left: number, { offset, limit }: SearchRequest): string {
  if (shown === 0) return "Nothing was found; try other words, or leave query out to read the session."
  const whole = "around_message_id with window 0 returns a message word for word."
  return left > 0 ? `${left} more: use offset ${offset + limit}. ${whole}` : whole
}
