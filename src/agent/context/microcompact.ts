import { assertNever } from "../../base/assert-never.ts"
import { isLongerThan } from "../../base/char-count.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { takeCodePoints } from "../../base/text.ts"
import { contentText, hasCarriers, withoutCarriers } from "../../protocol/message.ts"
import type { AssistantMessage, Message, Part, ToolCall, ToolMessage } from "../../protocol/message.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"
import { callsOfResults, originalOf, mapMessages } from "./history-draft.ts"
import type { HistoryDraft } from "./history-draft.ts"
import { digestedCall, resultProblem } from "./result-digest.ts"
import { isReduced } from "./shortened-result.ts"

export interface CompactOptions {
  readonly pinned: ReadonlySet<Message>
  /** Index of the first recent message. Recent messages are changed only where a newer result makes them obsolete. */
  readonly tailStart: number
  /** Whether a newer result of an equal call makes an older one obsolete, by tool name. */
  readonly newestResultOnly: (tool: string) => boolean
  readonly digest: (call: DigestedCall) => string
}

/** Layer 3: shortens duplicate and old content. No message is removed. */
export function microcompact(draft: HistoryDraft, options: CompactOptions): HistoryDraft {
  return shortenOldMessages(withoutObsoleteResults(draft, options), options, (message, line) =>
    isReduced(contentText(message.content)) ? line() : undefined,
  )
}

/** Before a summary: replaces every longer result outside the tail with its one-line digest. */
export function pruneResults(draft: HistoryDraft, options: CompactOptions): HistoryDraft {
  return shortenOldMessages(withoutObsoleteResults(draft, options), options, (message, line) => {
    const text = contentText(message.content)
    const hasImage = typeof message.content !== "string" && message.content.some((part) => part.type === "image_url")
    return hasImage || isLongerThan(text, SHORT_RESULT_CHARS) ? line() : undefined
  })
}

const SHORT_RESULT_CHARS = 200

function shortenOldMessages(
  draft: HistoryDraft,
  options: CompactOptions,
  lineFor: (message: ToolMessage, line: () => string) => string | undefined,
): HistoryDraft {
  const calls = callsOfResults(draft)
  const latestReply = draft.messages.findLast((message) => message.role === "assistant")
  return mapMessages(draft, (message, index) => {
    if (index >= options.tailStart || options.pinned.has(message)) return message
    switch (message.role) {
      case "assistant": {
        const light = message === latestReply || !hasCarriers(message) ? message : withoutCarriers(message)
        return withoutImages(withShortArguments(light))
      }
      case "tool": {
        const line = lineFor(message, () => digestOf(message, calls.get(message), { draft, digest: options.digest }))
        if (line === undefined || isShorterThan(message, line)) return withoutImages(message)
        return { ...message, content: line }
      }
      case "user":
        return withoutImages(message)
      case "system":
        return message
      default:
        return assertNever(message)
    }
  })
}

function isShorterThan({ content }: ToolMessage, line: string): boolean {
  return typeof content === "string" && content.length <= line.length
}

/** The one-line digest of a result, from the original call and result. */
function digestOf(
  message: ToolMessage,
  call: ToolCall | undefined,
  { draft, digest }: { readonly draft: HistoryDraft; readonly digest: CompactOptions["digest"] },
): string {
  const args = call?.function.arguments ?? ""
  return digest(digestedCall(message.tool_name, { args, result: contentText(originalOf(draft, message).content) }))
}

/** Keeps the newest of equal results and of repeated listings; older ones become a reference to it. */
function withoutObsoleteResults(draft: HistoryDraft, options: CompactOptions): HistoryDraft {
  const calls = callsOfResults(draft)
  const newest = new Map<string, ToolMessage[]>()
  const listings = new Map<string, ToolMessage>()
  const references = new Map<Message, string>()
  for (const message of draft.messages.toReversed()) {
    if (message.role !== "tool" || typeof message.content !== "string") continue
    const text = message.content
    // A reference would not say that the call failed.
    if (!isLongerThan(text, SHORT_RESULT_CHARS - 1) || resultProblem(text) !== undefined) continue
    const alike = newest.get(outlineOf(text)) ?? []
    const same = alike.find((later) => later.content === text)
    const listing = listingKey(message, calls.get(message), options)
    const later = listing === undefined ? undefined : listings.get(listing)
    if (same !== undefined) references.set(message, referenceTo(same, "The same result appears again later"))
    else if (later !== undefined)
      references.set(message, referenceTo(later, "A newer version of this listing appears later"))
    else newest.set(outlineOf(text), [...alike, message])
    if (listing !== undefined && later === undefined) listings.set(listing, message)
  }
  return mapMessages(draft, (message) => {
    const line = references.get(message)
    return line === undefined || message.role !== "tool" || options.pinned.has(message)
      ? message
      : { ...message, content: line }
  })
}

/** A cheap key for finding candidates of equal text. */
function outlineOf(text: string): string {
  return `${text.length} ${text.slice(0, 80)} ${text.slice(-80)}`
}

function referenceTo(newest: ToolMessage, what: string): string {
  return `[${what}: see the result of ${newest.tool_name}, call ${newest.tool_call_id}]`
}

const MCP_LISTING = /^mcp_\w*list/u

/** Equal for calls of which only the newest result is needed. */
function listingKey(
  message: ToolMessage,
  call: ToolCall | undefined,
  { newestResultOnly }: CompactOptions,
): string | undefined {
  const isListing = newestResultOnly(message.tool_name) || MCP_LISTING.test(message.tool_name)
  if (call === undefined || !isListing) return undefined
  return `${message.tool_name} ${call.function.arguments}`
}

const LONG_ARGUMENTS_CHARS = 500
const LONG_VALUE_CHARS = 200

function withShortArguments(message: AssistantMessage): AssistantMessage {
  const calls = message.tool_calls ?? []
  const short = calls.map((call) => {
    const text = shortArguments(call.function.arguments)
    return text === call.function.arguments ? call : { ...call, function: { ...call.function, arguments: text } }
  })
  return short.every((call, index) => call === calls[index]) ? message : { ...message, tool_calls: short }
}

/** Shortens long strings in JSON arguments. Text that is not valid JSON stays unchanged. */
export function shortArguments(text: string): string {
  if (!isLongerThan(text, LONG_ARGUMENTS_CHARS)) return text
  const value = parseJson(text)
  return isRecord(value) || Array.isArray(value) ? JSON.stringify(withShortStrings(value)) : text
}

function withShortStrings(value: unknown): unknown {
  if (typeof value === "string") {
    return isLongerThan(value, LONG_VALUE_CHARS) ? `${takeCodePoints(value, LONG_VALUE_CHARS)}...[truncated]` : value
  }
  if (Array.isArray(value)) return value.map(withShortStrings)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withShortStrings(inner)]))
}

const IMAGE_PLACEHOLDER = "[screenshot removed to save context]"

export function withoutImages<Kind extends Exclude<Message, { role: "system" }>>(message: Kind): Kind {
  const { content } = message
  if (content === null || typeof content === "string") return message
  if (!content.some((part) => part.type === "image_url")) return message
  const parts: readonly Part[] = content.map((part) =>
    part.type === "image_url" ? { type: "text", text: IMAGE_PLACEHOLDER } : part,
  )
  return { ...message, content: parts }
}
