import { takeCodePoints } from "../../base/text.ts"
import type { Part } from "../../protocol/message.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { MessageRow } from "../../state/store.ts"
import type { PastSessions } from "../../toolkit/ports/sessions.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import type { SearchRequest } from "./search-request.ts"
import { conversationSessions } from "./conversation-sessions.ts"
import { isoTime, messageFields } from "./message-fields.ts"
import { counted } from "../../base/counted.ts"

const OPENING = 20
const CLOSING = 10
const READ_CHARS = 600

/** The beginning and the end of a session. */
export async function readSessionMessages(
  store: PastSessions,
  id: SessionId,
  request: SearchRequest,
): Promise<ToolResult> {
  const session = await store.session(id)
  const rows = (await store.messages(id)).filter((row) => request.roles?.includes(row.role) ?? true)
  const omitted = Math.max(0, rows.length - OPENING - CLOSING)
  const shown = omitted === 0 ? rows : [...rows.slice(0, OPENING), ...rows.slice(-CLOSING)]
  const firstOmitted = omitted === 0 ? undefined : rows[OPENING]
  return {
    content: {
      success: true,
      mode: "read",
      session_id: id,
      title: session?.title ?? null,
      ...(session?.parent !== null && session?.parent !== undefined && { parent_session_id: session.parent }),
      messages: shown.map((row) => messageFields(row, READ_CHARS)),
      count: shown.length,
      truncated: omitted > 0,
      ...(firstOmitted !== undefined && {
        message: `${omitted} messages in between are omitted; continue with around_message_id ${firstOmitted.id}, or search them with query.`,
      }),
    },
    summary: `${counted(shown.length, "message")} of ${id}`,
  }
}

const SCROLL_CHARS = 24_000
const MAX_SCROLL_MESSAGE = 4000

/** The messages around a message or, with a window of 0, that message word for word. */
export async function readMessagesAround(
  { store, redact }: { readonly store: PastSessions; readonly redact: Redact },
  target: { readonly session: SessionId | undefined; readonly messageId: number },
  request: SearchRequest,
): Promise<ToolResult> {
  const { messageId } = target
  const found = await store.messagesAround(messageId, request.window)
  const anchor = found.messages.find(({ id }) => id === messageId)
  if (anchor === undefined) {
    return failure(`there is no message ${messageId}; use an id from a result of session_search`, { success: false })
  }
  if (target.session !== undefined && !(await conversationSessions(store, target.session)).includes(anchor.sessionId)) {
    return failure(`message ${messageId} is in session ${anchor.sessionId}; call again with that session_id`, {
      success: false,
    })
  }
  if (request.window === 0) return wholeMessage(anchor, { offset: request.offset, redact })
  const rows = found.messages.filter(
    (row) => row.id === messageId || (row.active && (request.roles?.includes(row.role) ?? true)),
  )
  const maxChars = Math.min(MAX_SCROLL_MESSAGE, Math.floor(SCROLL_CHARS / Math.max(1, rows.length)))
  const messages = rows.map((row) => messageFields(row, maxChars))
  return {
    content: {
      success: true,
      mode: "scroll",
      session_id: anchor.sessionId,
      messages,
      count: messages.length,
      messages_before: found.before,
      messages_after: found.after,
      ...(messages.some((message) => "chars" in message) && { message: WHOLE_TEXT_HINT }),
    },
    summary: `${counted(messages.length, "message")} of ${anchor.sessionId}`,
  }
}

export const WHOLE_TEXT_HINT =
  "Messages with chars are cut; around_message_id with window 0 returns one of them word for word."

/** Small enough that a later compression does not shorten the result. */
const PAGE_CHARS = 20_000

interface Piece {
  readonly part: string
  readonly text: string
}

type Redact = (text: string) => string

/**
 * The complete message from `offset` on; the pages together are what was stored, without its secrets. They are removed before the text is
 * divided, because the rest of a secret would not be recognized.
 */
function wholeMessage(
  row: MessageRow,
  { offset, redact }: { readonly offset: number; readonly redact: Redact },
): ToolResult {
  const pieces = piecesOf(row).map(({ part, text }) => ({ part, characters: Array.from(redact(text)) }))
  const total = pieces.reduce((sum, { characters }) => sum + characters.length, 0)
  if (offset > 0 && offset >= total) {
    return failure(`offset ${offset} is past the end of message ${row.id}, which has ${total} characters`, {
      success: false,
    })
  }
  const end = Math.min(total, offset + PAGE_CHARS)
  let at = 0
  const parts = pieces.flatMap(({ part, characters }) => {
    const text = characters.slice(Math.max(0, offset - at), Math.max(0, end - at)).join("")
    at += characters.length
    return text === "" ? [] : [{ part, text }]
  })
  return {
    content: {
      success: true,
      mode: "message",
      session_id: row.sessionId,
      message_id: row.id,
      role: row.role,
      when: isoTime(row.timestamp),
      ...(row.toolName !== null && { tool_name: row.toolName }),
      parts,
      offset,
      total_chars: total,
      ...(end < total && {
        next_offset: end,
        message: `${total - end} characters follow; call again with offset ${end} for the next page.`,
      }),
    },
    summary: `message ${row.id}, characters ${offset} to ${end} of ${total}`,
  }
}

/** The text, the arguments of each tool call and the reasoning, as stored. */
function piecesOf({ message, text }: MessageRow): readonly Piece[] {
  if (message === undefined) return [{ part: "content", text }]
  const content = contentPieces(message.content)
  if (message.role !== "assistant") return content
  const calls = (message.tool_calls ?? []).map((call, at) => ({
    part: `arguments of call ${at + 1}, ${call.function.name}`,
    text: call.function.arguments,
  }))
  const reasoning = message.reasoning_content ?? message.reasoning ?? ""
  return [...content, ...calls, { part: "reasoning", text: reasoning }]
}

const MAX_ADDRESS_CHARS = 500

function contentPieces(content: string | readonly Part[] | null): readonly Piece[] {
  if (content === null) return []
  if (typeof content === "string") return [{ part: "content", text: content }]
  return content.map((part, at) => {
    if (part.type === "text") return { part: `content part ${at + 1}`, text: part.text }
    const { url } = part.image_url
    const isAddress = takeCodePoints(url, MAX_ADDRESS_CHARS) === url
    return {
      part: `content part ${at + 1}, image`,
      text: isAddress ? url : `[image data of ${url.length} characters]`,
    }
  })
}
