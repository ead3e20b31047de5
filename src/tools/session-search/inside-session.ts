import { isRecord, parseJson } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import { fingerprint } from "../../base/random-and-hash.ts"
import { searchTexts } from "../../knowledge/recall/search-texts.ts"
import { createLexicon } from "../../knowledge/recall/lexicon.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { MessageRow } from "../../state/store.ts"
import type { PastSessions } from "../../toolkit/ports/sessions.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import type { SearchRequest } from "./search-request.ts"
import { sessionChain } from "./session-chain.ts"
import { isoTime } from "./shown-message.ts"

const PASSAGE_CHARS = 1200

/** Our own calls and results repeat the query; they are never what is looked for. */
const OWN_NAME = "session_search"

/**
 * Searches one conversation word for word, what compressions took out included: all messages of the session, of those it continues
 * and of those that continue it.
 */
export async function searchInside(
  store: PastSessions,
  place: { readonly session: SessionId; readonly running: SessionId | undefined },
  request: SearchRequest,
): Promise<ToolResult> {
  const chain = await sessionChain(store, place.session)
  const rows = await originals(store, chain, place.running)
  const wanted = rows.filter((row) => isWanted(row, request))
  const passages = await searchTexts(request.query, wanted.map(searchedText), createLexicon())
  const found = passages.map((passage) => ({ passage, row: wanted[passage.text] }))
  const sorted = request.sort === undefined ? found : found.toSorted((a, b) => byTime(a.row, b.row, request.sort))
  const page = sorted.slice(request.offset, request.offset + request.limit)
  const results = page.flatMap(({ passage, row }) => (row === undefined ? [] : [shownHit(row, passage.passage)]))
  const left = found.length - request.offset - results.length
  return {
    content: {
      success: true,
      mode: "search",
      query: request.query,
      session_id: place.session,
      results,
      count: results.length,
      sessions_searched: chain.length,
      message: hint(results.length, left, request),
    },
    summary: `${results.length} messages found in ${place.session}`,
  }
}

/** Each message once, though a compression copies those it keeps; nothing that Hermes wrote itself, nor the turn that is running. */
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

function isWanted(row: MessageRow, { roles, after, before }: SearchRequest): boolean {
  if (roles !== undefined && !roles.includes(row.role)) return false
  return (after === undefined || row.timestamp >= after) && (before === undefined || row.timestamp < before)
}

/** What was said and what tools were told to do. */
function searchedText({ text, message }: MessageRow): string {
  const calls = message?.role === "assistant" ? (message.tool_calls ?? []) : []
  const told = calls.flatMap((call) =>
    call.function.name === OWN_NAME ? [] : [`${call.function.name} ${withoutEscapes(call.function.arguments)}`],
  )
  return [withoutEscapes(text), ...told].join("\n")
}

/**
 * Results and arguments are JSON on one line, in which `\n` would grow together with the word behind it. What a note adds to a
 * result stands on lines of its own.
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

function shownHit(row: MessageRow, passage: string): Readonly<Record<string, unknown>> {
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
  const whole = "around_message_id with window 0 gives a message word for word."
  return left > 0 ? `${left} more: use offset ${offset + limit}. ${whole}` : whole
}
