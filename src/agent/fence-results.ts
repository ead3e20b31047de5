import { mapGrowingList } from "../base/map-growing-list.ts"
import { oncePerObject } from "../base/once-per-object.ts"
import { sha256Hex } from "../base/random-and-hash.ts"
import type { Message, Provenance, ToolMessage } from "../protocol/message.ts"
import { STEER_OPENING } from "../toolkit/untrusted.ts"

/** Results of the web and of MCP servers have a label of their own. */
const FENCED: ReadonlySet<Provenance | undefined> = new Set(["file", "command", "agent"])
const MIN_CHARS = 32

/**
 * Puts the results of file and command tools between two lines that only this conversation knows, so that no file or program can end
 * its text and continue as somebody else. Only the request has the fence; the stored result is the tool's own text. A message always
 * becomes the same object, so its cached encoding stays valid.
 */
export function fenceResults(messages: readonly Message[], fence: FenceSource): readonly Message[] {
  return messages.some(needsFence) ? fencedMessages(messages, fenceId(fence)) : messages
}

/** A request contains the whole history, so each message is handled once. */
const fencedMessages = mapGrowingList((message: Message, id: string) =>
  needsFence(message) ? fencedForm(message, id) : message,
)

function needsFence(message: Message): message is ToolMessage {
  return message.role === "tool" && FENCED.has(message.provenance)
}

export interface FenceSource {
  readonly conversationId: string
  /** Commands know the id of the conversation, but not this. */
  readonly key: () => string
}

/** Stable for a conversation, because the provider caches by byte prefix. */
function fenceId({ conversationId, key }: FenceSource): string {
  return sha256Hex(`fence ${key()} ${conversationId}`).slice(0, 8)
}

const fencedForms = oncePerObject((_message: ToolMessage) => new Map<string, ToolMessage>())

function fencedForm(message: ToolMessage, id: string): ToolMessage {
  const forms = fencedForms(message)
  const known = forms.get(id)
  if (known !== undefined) return known
  const { content } = message
  const fenced = typeof content === "string" ? { ...message, content: fence(content, id) } : message
  forms.set(id, fenced)
  return fenced
}

function fence(content: string, id: string): string {
  const end = endOfResult(content)
  return end < MIN_CHARS ? content : `[data ${id}]\n${content.slice(0, end)}\n[/data ${id}]${content.slice(end)}`
}

/** Below a result are notes of Hermes and messages of the user. A result is one line of JSON, or a longer text of several lines. */
function endOfResult(content: string): number {
  const after = content.startsWith("{") ? content.indexOf("\n\n") : content.lastIndexOf(`\n\n${STEER_OPENING}`)
  return after === -1 ? content.length : after
}
