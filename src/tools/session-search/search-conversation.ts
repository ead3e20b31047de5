import { isRecord, parseJson } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import { searchMessages } from "../../knowledge/message-search/search-messages.ts"
import type { Lexicon } from "../../knowledge/semantic-search/lexicon.ts"
import { searchPassages } from "../../knowledge/semantic-search/search-passages.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { MessageScope, SearchableMessage } from "../../protocol/message-words.ts"
import type { MessageRow } from "../../state/store.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import { conversationSessions } from "./conversation-sessions.ts"
import { exclusions } from "./find-messages.ts"
import type { SearchContext } from "./find-messages.ts"
import { matchingInShownText, toolCallsIn } from "./matching-in-shown-text.ts"
import { isoTime } from "./message-fields.ts"
import type { SearchRequest } from "./search-request.ts"
import { isSearchCall } from "./search-tool.ts"
import { showHits } from "./show-hits.ts"
import { withoutCopies } from "./without-copies.ts"
import { counted } from "../../base/counted.ts"

const PASSAGE_CHARS = 1200

/** How many messages are ranked; later pages come from the same list. */
const MAX_RANKED = 100

/**
 * Searches one conversation, including what compressions removed: all messages of the session, of the sessions it continues and of
 * those that continue it. Tool calls and results are searched too.
 */
export async function searchConversation(
  target: { readonly session: SessionId },
  request: SearchRequest,
  context: SearchContext,
): Promise<ToolResult> {
  const { store } = context
  const chain = await conversationSessions(store, target.session)
  const found = await withoutCopies(await rankedMessages(request, chain, context), store)
  const sorted = request.sort === undefined ? found : found.toSorted((a, b) => byTime(a.row, b.row, request.sort))
  const page = sorted.slice(request.offset, request.offset + request.limit)
  const lexicon = await context.port.lexicon()
  const passages = await bestPassages(page, { ...context, query: request.query, lexicon })
  const hits = passages.map(({ row, passage }) => ({ row, fields: hitFields(row, passage) }))
  const results = await showHits(hits, store, { window: request.window, bookends: false })
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
    summary: `${counted(results.length, "message")} found in ${target.session}`,
  }
}

interface Ranked {
  readonly row: SearchableMessage
}

/** Messages that contain the query literally, then those that contain its words, best first. */
async function rankedMessages(
  request: SearchRequest,
  chain: readonly SessionId[],
  context: SearchContext,
): Promise<readonly Ranked[]> {
  const { words } = context.store
  const isCurrentTurn = await exclusions(context)
  const isExcluded = (row: SearchableMessage): boolean => isCurrentTurn(row) || isOnlySearchCall(row)
  const scope: MessageScope = {
    sessions: chain,
    ...(request.roles !== undefined && { roles: request.roles }),
    ...(request.after !== undefined && { after: request.after }),
    ...(request.before !== undefined && { before: request.before }),
  }
  const literal = request.query.replaceAll('"', "").trim()
  const ids = (await words.containing(literal, chain)).slice(-MAX_RANKED)
  const containing = (await words.inScope(ids, scope)).filter((row) => !row.isGenerated && !isExcluded(row))
  const exact = await matchingInShownText(
    containing.map((row) => ({ row })),
    literal,
    context,
  )
  const ranked = await searchMessages(request.query, words, {
    scope,
    lexicon: await context.port.lexicon(),
    limit: MAX_RANKED,
    isExcluded,
    isSearchCall,
    shown: context.redact,
    toolCalls: toolCallsIn(context.store),
    withEscapes: true,
  })
  // What only the messages around it match is shown with those.
  const matching = ranked.filter(({ matchedBy }) => matchedBy !== "context")
  return [...new Map([...exact, ...matching].map((found) => [found.row.id, found])).values()]
}

function isOnlySearchCall({ text, calledTools }: SearchableMessage): boolean {
  return text.trim() === "" && calledTools.length > 0 && calledTools.every(isSearchCall)
}

interface FoundPassage extends Ranked {
  readonly passage: string
}

/**
 * The best passage of each message, in the given order. Drops messages in which the words are only parts of others: see
 * `withEscapes`.
 */
async function bestPassages(
  ranked: readonly Ranked[],
  {
    query,
    store,
    redact,
    lexicon,
  }: Pick<SearchContext, "store" | "redact"> & { readonly query: string; readonly lexicon: Lexicon },
): Promise<readonly FoundPassage[]> {
  const found = await Promise.all(
    ranked.map(async ({ row }) => {
      const [stored] = (await store.messagesAround(row.id, 0)).messages
      const [best] = stored === undefined ? [] : await searchPassages(query, [redact(searchedText(stored))], lexicon)
      return best === undefined ? [] : [{ row, passage: best.passage }]
    }),
  )
  return found.flat()
}

/** The text of a message and the arguments of its tool calls. */
function searchedText({ text, message }: MessageRow): string {
  const calls = message?.role === "assistant" ? (message.tool_calls ?? []) : []
  const callTexts = calls.flatMap((call) =>
    isSearchCall(call.function.name) ? [] : [`${call.function.name} ${withoutEscapes(call.function.arguments)}`],
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

function byTime(a: SearchableMessage, b: SearchableMessage, sort: SearchRequest["sort"]): number {
  const order = a.timestamp - b.timestamp || a.id - b.id
  return sort === "newest" ? -order : order
}

function hitFields(row: SearchableMessage, passage: string): Readonly<Record<string, unknown>> {
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
