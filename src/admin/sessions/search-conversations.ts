import { markWords } from "../../knowledge/message-search/mark-words.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { MessageRow, SearchHit, SessionStore } from "../../state/store.ts"
import { readableResult } from "./readable-result.ts"
import { searchSessions } from "./read-sessions.ts"
import { withSessionStore, type SessionStoreContext } from "./session-store.ts"

export interface FoundConversation {
  /** The newest session of the conversation, which `hermes --resume` continues. */
  readonly id: SessionId
  readonly title: string | null
  /** Epoch seconds. */
  readonly lastMatch: number
  /** What the user and the model wrote comes before tool results, unless an order was requested. */
  readonly matches: readonly Match[]
}

/** One message; `>>>` and `<<<` enclose each match in its text. */
export type Match = Pick<SearchHit, "id" | "role" | "toolName" | "timestamp" | "snippet">

type SearchOptions = Omit<Parameters<typeof searchSessions>[2], "withContext">

/** Messages for a query by conversation: a conversation that was compressed has several sessions. */
export async function searchConversations(
  context: SessionStoreContext,
  query: string,
  options: SearchOptions,
): Promise<readonly FoundConversation[]> {
  const hits = await textFirst(context, query, options)
  const grouped = await withSessionStore(context, async (store) => {
    const tips = new Map<SessionId, SessionId>()
    for (const { sessionId } of hits)
      tips.set(sessionId, tips.get(sessionId) ?? (await store.compressionTip(sessionId)))
    const conversations = Map.groupBy(hits, ({ sessionId }) => tips.get(sessionId) ?? sessionId)
    return await Promise.all(Array.from(conversations, ([id, ofOne]) => describe(id, ofOne, { store, query })))
  })
  return grouped ?? []
}

/**
 * What was written comes before the arguments of calls. Tool results fill what is left of the limit, because they are long texts that
 * often contain the words by chance.
 */
async function textFirst(
  context: SessionStoreContext,
  query: string,
  options: SearchOptions,
): Promise<readonly SearchHit[]> {
  const search = (more: Partial<SearchOptions>): Promise<readonly SearchHit[]> =>
    searchSessions(context, query, { ...options, ...more, withContext: false })
  if (options.roles !== undefined || options.sort !== undefined) return await search({})
  const written = await search({ roles: ["user", "assistant"] })
  const texts = [...written.filter(isInText), ...written.filter((hit) => !isInText(hit))]
  const left = (options.limit ?? texts.length) - texts.length
  return left <= 0 ? texts : [...texts, ...(await search({ roles: ["tool"], limit: left }))]
}

async function describe(
  id: SessionId,
  hits: readonly SearchHit[],
  { store, query }: { readonly store: SessionStore; readonly query: string },
): Promise<FoundConversation> {
  return {
    id,
    title: (await store.session(id))?.title ?? null,
    lastMatch: Math.max(...hits.map(({ timestamp }) => timestamp)),
    matches: await Promise.all(hits.map((hit) => toMatch(hit, { store, query }))),
  }
}

async function toMatch(
  { id, role, toolName, timestamp, snippet }: SearchHit,
  { store, query }: { readonly store: SessionStore; readonly query: string },
): Promise<Match> {
  const match = { id, role, toolName, timestamp, snippet }
  if (role === "user") return match
  const [row] = (await store.messagesAround(id, 0)).messages
  if (row === undefined || (role === "assistant" && isOfText(row, match))) return match
  return { ...match, snippet: markWords(readableText(row), query) }
}

/** An exact query is also matched in the JSON of tool calls, which is not shown. */
function isOfText({ text }: MessageRow, { snippet }: Pick<SearchHit, "snippet">): boolean {
  const [, word] = />>>(.*?)<<</su.exec(snippet) ?? []
  return word !== undefined && text.includes(word)
}

function isInText({ snippet }: Pick<SearchHit, "snippet">): boolean {
  return snippet.includes(">>>")
}

/** With tool calls, because a match that is not in the text of a reply is in the arguments of a call. */
function readableText({ message, text }: MessageRow): string {
  const calls = message?.role === "assistant" ? (message.tool_calls ?? []) : []
  const lines = calls.map((call) => `→ ${call.function.name} ${readableResult(call.function.arguments)}`)
  return [message?.role === "tool" ? readableResult(text) : text, ...lines].filter((line) => line !== "").join("\n")
}
