import { z } from "zod"

import { ellipsize } from "../../base/text.ts"
import { isSessionId } from "../../protocol/identifiers.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { MessageRow, SessionRow, SessionStore, SessionSummary } from "../../state/store.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import type { DefinedTool } from "../../toolkit/define-tool.ts"
import type { EventQueue } from "./event-queue.ts"
import { shownText } from "./shown-text.ts"
import type { Redact } from "./shown-text.ts"

/** A tool that Hermes offers to other programs. */
export interface ServedTool {
  readonly tool: DefinedTool
  readonly input: z.ZodObject
}

/** Undefined while the home has no conversations. */
export type OpenStore = () => Promise<SessionStore | undefined>

const TOOLSET = "mcp-serve"
/** At the end of a preview that the store has shortened. */
const CUT = "..."
const sessionKey = z.string().trim().min(1).max(256)
const limitUpTo200 = z.int().min(1).max(200).default(50)
const cursor = z.int().min(0).default(0)

/** The tools with which other programs read the conversations of a home. A permission rule may name one of them and a conversation. */
export function conversationTools(openStore: OpenStore, events: EventQueue): readonly ServedTool[] {
  const find = async (key: string): Promise<SessionRow | undefined> =>
    isSessionId(key) ? await (await openStore())?.session(key) : undefined
  const messagesOf = async (key: string): Promise<readonly MessageRow[] | undefined> => {
    const row = await find(key)
    return row === undefined ? undefined : await (await openStore())?.messages(row.id)
  }
  return [
    reads({
      name: "conversations_list",
      description: "List conversations, newest first.",
      input: z.object({ platform: z.string().optional(), limit: limitUpTo200, search: z.string().optional() }),
      run: async ({ platform, limit, search }, { redact }) => {
        const all =
          (await (
            await openStore()
          )?.list({
            limit: search === undefined ? limit : 1000,
            orderBy: "last-activity",
            ...(platform === undefined ? {} : { source: platform }),
          })) ?? []
        const wanted = search?.toLowerCase()
        // Only what is shown is searched: a search in other text would tell, guess by guess, what was removed from it.
        const found = all
          .map((session) => listed(session, redact))
          .filter(({ display_name: name }) => wanted === undefined || name.toLowerCase().includes(wanted))
          .slice(0, limit)
        return { count: found.length, conversations: found }
      },
    }),
    reads({
      name: "conversation_get",
      description: "Details of a conversation.",
      input: z.object({ session_key: sessionKey }),
      run: async ({ session_key: key }, { redact }) => {
        const row = await find(key)
        return row === undefined ? unknownKey(key) : details(row, redact)
      },
    }),
    reads({
      name: "messages_read",
      description: "The newest messages of a conversation, oldest first.",
      input: z.object({ session_key: sessionKey, limit: limitUpTo200 }),
      run: async ({ session_key: key, limit }, { redact }) => {
        const messages = (await messagesOf(key))?.filter(({ role }) => role === "user" || role === "assistant")
        if (messages === undefined) return unknownKey(key)
        const shown = messages.slice(-limit).map((row) => shownMessage(row, redact))
        return { count: shown.length, messages: shown }
      },
    }),
    reads({
      name: "attachments_fetch",
      description: "Images and files of a message.",
      input: z.object({ session_key: sessionKey, message_id: z.int() }),
      run: async ({ session_key: key, message_id: id }) => {
        const message = (await messagesOf(key))?.find((one) => one.id === id)
        if (message !== undefined) return attachments(message)
        return { error: `there is no message ${id} in ${ellipsize(key, 100)}` }
      },
    }),
    reads({
      name: "events_poll",
      description: "New messages since a cursor.",
      input: z.object({
        after_cursor: cursor,
        session_key: sessionKey.optional(),
        limit: z.int().min(1).max(200).default(20),
      }),
      run: async ({ after_cursor: after, session_key: key, limit }) => {
        const { events: found, nextCursor, lost } = await events.poll({ after, sessionKey: key, limit })
        return { events: found, next_cursor: nextCursor, ...(lost === 0 ? {} : { lost }) }
      },
    }),
    reads({
      name: "events_wait",
      description: "Wait for a new message.",
      input: z.object({
        after_cursor: cursor,
        session_key: sessionKey.optional(),
        timeout_ms: z.int().min(0).max(300_000).default(30_000),
      }),
      run: async ({ after_cursor: after, session_key: key, timeout_ms: timeoutMs }, { signal }) => {
        const event = await events.wait({ after, sessionKey: key, limit: 1, timeoutMs, signal })
        return event === undefined ? { event: null, reason: "timeout" } : { event }
      },
    }),
  ]
}

interface ReadingTool<Schema extends z.ZodObject> {
  readonly name: string
  readonly description: string
  readonly input: Schema
  readonly run: (args: z.output<Schema>, context: ReadingContext) => Promise<Readonly<Record<string, unknown>>>
}

interface ReadingContext {
  readonly signal: AbortSignal
  /** For text that is shortened or searched; everything else is redacted with the result. */
  readonly redact: Redact
}

function reads<Schema extends z.ZodObject>({ name, description, input, run }: ReadingTool<Schema>): ServedTool {
  const keyOf = ({ session_key: key }: Readonly<Record<string, unknown>>): string =>
    typeof key === "string" ? key : ""
  const tool = defineTool({
    name,
    toolset: TOOLSET,
    description,
    input,
    access: "read",
    // The other program cannot read a file that a long result was moved to. Each tool limits what it returns.
    maxResultChars: "unlimited",
    parallel: "safe",
    subject: (args) => ({ kind: "name", name: keyOf(args) }),
    preview: keyOf,
    run: async (args, { signal, redact }) => {
      // Twice, because the result is redacted as well, and a mask that follows `PASSWORD=` is masked again.
      const content = await run(args, { signal, redact: (text) => redact(redact(text)) })
      return { content, summary: name }
    },
  })
  return { tool, input }
}

function unknownKey(key: string): { readonly error: string } {
  return { error: `there is no conversation ${ellipsize(key, 100)}` }
}

function listed({ id, source, title, preview, lastActivity }: SessionSummary, redact: Redact) {
  return {
    session_key: id,
    session_id: id,
    platform: source,
    chat_type: "private",
    display_name: redact(title ?? withoutCutWord(preview)),
    chat_name: null,
    user_name: null,
    updated_at: lastActivity,
  }
}

/** The store shortens previews. A secret of which only the beginning is left would not be recognized. */
function withoutCutWord(preview: string): string {
  return preview.endsWith(CUT) ? preview.replace(/\S+$/u, CUT) : preview
}

function details(row: SessionRow, redact: Redact): Readonly<Record<string, unknown>> {
  const { id, source, title, model, startedAt, endedAt, messageCount, usage, cwd } = row
  return {
    session_key: id,
    session_id: id satisfies SessionId,
    platform: source,
    chat_id: null,
    thread_id: null,
    display_name: title === null ? null : redact(title),
    model,
    cwd,
    started_at: startedAt,
    ended_at: endedAt,
    message_count: messageCount,
    tokens: usage,
  }
}

function shownMessage({ id, role, text, timestamp }: MessageRow, redact: Redact): Readonly<Record<string, unknown>> {
  return { id, role, content: shownText(text, redact), timestamp }
}

function attachments({ id, message, text }: MessageRow): Readonly<Record<string, unknown>> {
  const parts = Array.isArray(message?.content) ? message.content : []
  const media = [...text.matchAll(/MEDIA:(\S+)/gu)].map(([, path]) => path)
  return { message_id: id, images: parts.filter(({ type }) => type === "image_url"), media }
}
