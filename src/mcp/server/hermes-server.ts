import { McpServer } from "@modelcontextprotocol/server"
import { z } from "zod"

import type { Clock } from "../../base/clock.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import { isSessionId } from "../../protocol/identifiers.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { MessageRow, SessionRow, SessionStore } from "../../state/store.ts"
import { createEventQueue } from "./event-queue.ts"

export interface HermesServerOptions {
  readonly version: string
  readonly clock: Clock
  /** Undefined while the home has no conversations. */
  readonly store: SessionStore | undefined
  readonly redact: (text: string) => string
  /** Called with the name of each tool that is called. */
  readonly onCall?: (tool: string) => void
}

const MAX_CONTENT_CHARS = 2000
const sessionKey = z.string().trim().min(1).max(256)
const limitUpTo200 = z.int().min(1).max(200).default(50)

/**
 * Hermes as an MCP server: its conversations, for other programs. Every tool only reads. Each answers with JSON; a failure is `{ error }`.
 */
export function createHermesServer(options: HermesServerOptions): McpServer {
  const { store } = options
  const server = new McpServer({ name: "hermes", title: "Hermes", version: options.version })
  const tool = <Schema extends z.ZodObject>(
    name: string,
    description: string,
    { input }: { readonly input: Schema },
    run: (args: z.output<Schema>, signal: AbortSignal) => Promise<Readonly<Record<string, unknown>>>,
  ): void => {
    const inputSchema: z.ZodObject = input
    server.registerTool(
      name,
      { description, inputSchema, annotations: { readOnlyHint: true, openWorldHint: false } },
      async (args, { mcpReq }) => {
        options.onCall?.(name)
        const content = await run(input.parse(args), mcpReq.signal).catch((error: unknown) => ({
          error: errorMessage(error),
        }))
        return { content: [{ type: "text" as const, text: options.redact(JSON.stringify(content)) }] }
      },
    )
  }
  const events = store === undefined ? undefined : createEventQueue(store, options.clock)
  const find = async (key: string): Promise<SessionRow | undefined> =>
    store === undefined || !isSessionId(key) ? undefined : await store.session(key)

  tool(
    "conversations_list",
    "List conversations, newest first.",
    { input: z.object({ platform: z.string().optional(), limit: limitUpTo200, search: z.string().optional() }) },
    async ({ platform, limit, search }) => {
      const all =
        (await store?.list({
          limit: search === undefined ? limit : 1000,
          orderBy: "last-activity",
          ...(platform === undefined ? {} : { source: platform }),
        })) ?? []
      const wanted = search?.toLowerCase()
      const found = all
        .filter(
          ({ title, preview }) => wanted === undefined || `${title ?? ""} ${preview}`.toLowerCase().includes(wanted),
        )
        .slice(0, limit)
      return {
        count: found.length,
        conversations: found.map(({ id, source, title, preview, lastActivity }) => ({
          session_key: id,
          session_id: id,
          platform: source,
          chat_type: "private",
          display_name: title ?? ellipsize(preview, 80),
          chat_name: null,
          user_name: null,
          updated_at: lastActivity,
        })),
      }
    },
  )
  tool(
    "conversation_get",
    "Details of a conversation.",
    { input: z.object({ session_key: sessionKey }) },
    async ({ session_key: key }) => {
      const row = await find(key)
      return row === undefined ? unknownKey(key) : details(row)
    },
  )
  tool(
    "messages_read",
    "The newest messages of a conversation, oldest first.",
    { input: z.object({ session_key: sessionKey, limit: limitUpTo200 }) },
    async ({ session_key: key, limit }) => {
      const row = await find(key)
      if (row === undefined || store === undefined) return unknownKey(key)
      const rows = (await store.messages(row.id)).filter(({ role }) => role === "user" || role === "assistant")
      return { count: Math.min(rows.length, limit), messages: rows.slice(-limit).map(shownMessage) }
    },
  )
  tool(
    "attachments_fetch",
    "Images and files of a message.",
    { input: z.object({ session_key: sessionKey, message_id: z.int() }) },
    async ({ session_key: key, message_id: id }) => {
      const row = await find(key)
      const rows = row === undefined ? [] : ((await store?.messages(row.id)) ?? [])
      const message = rows.find((one) => one.id === id)
      return message === undefined ? { error: `there is no message ${id} in ${key}` } : attachments(message)
    },
  )
  const cursor = z.int().min(0).default(0)
  tool(
    "events_poll",
    "New messages since a cursor.",
    {
      input: z.object({
        after_cursor: cursor,
        session_key: sessionKey.optional(),
        limit: z.int().min(1).max(200).default(20),
      }),
    },
    async ({ after_cursor: after, session_key: key, limit }) => {
      const polled = await events?.poll({ after, sessionKey: key, limit })
      const { events: found = [], nextCursor = after, lost = 0 } = polled ?? {}
      return { events: found, next_cursor: nextCursor, ...(lost === 0 ? {} : { lost }) }
    },
  )
  tool(
    "events_wait",
    "Wait for a new message.",
    {
      input: z.object({
        after_cursor: cursor,
        session_key: sessionKey.optional(),
        timeout_ms: z.int().min(0).max(300_000).default(30_000),
      }),
    },
    async ({ after_cursor: after, session_key: key, timeout_ms: timeoutMs }, signal) => {
      const event = await events?.wait({ after, sessionKey: key, limit: 1, timeoutMs, signal })
      return event === undefined ? { event: null, reason: "timeout" } : { event }
    },
  )
  return server
}

function unknownKey(key: string): { readonly error: string } {
  return { error: `there is no conversation ${ellipsize(key, 100)}` }
}

function details(row: SessionRow): Readonly<Record<string, unknown>> {
  const { id, source, title, model, startedAt, endedAt, messageCount, usage, cwd } = row
  return {
    session_key: id,
    session_id: id satisfies SessionId,
    platform: source,
    chat_id: null,
    thread_id: null,
    display_name: title,
    model,
    cwd,
    started_at: startedAt,
    ended_at: endedAt,
    message_count: messageCount,
    tokens: usage,
  }
}

function shownMessage({ id, role, text, timestamp }: MessageRow): Readonly<Record<string, unknown>> {
  return { id, role, content: ellipsize(text, MAX_CONTENT_CHARS), timestamp }
}

function attachments({ id, message, text }: MessageRow): Readonly<Record<string, unknown>> {
  const parts = Array.isArray(message?.content) ? message.content : []
  const media = [...text.matchAll(/MEDIA:(\S+)/gu)].map(([, path]) => path)
  return { message_id: id, images: parts.filter(({ type }) => type === "image_url"), media }
}
