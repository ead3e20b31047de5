import { assertNever } from "../../base/assert-never.ts"
import { isLongerThan } from "../../base/char-count.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { takeCodePoints } from "../../base/text.ts"
import { contentText } from "../../protocol/message.ts"
import type { AssistantMessage, Message, Part, ToolCall, ToolMessage } from "../../protocol/message.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"
import { callsOfResults, originOf, reshape } from "./draft.ts"
import type { Draft } from "./draft.ts"
import { digestedCall } from "./result-digest.ts"
import { isReduced } from "./shortened-result.ts"

export interface CompactOptions {
  readonly pinned: ReadonlySet<Message>
  /** Messages from here on are recent: only copies are taken out of them. */
  readonly tailStart: number
  readonly digest: (call: DigestedCall) => string
}

/** Layer 3: what the model can do without, because it is there twice or long past. Only contents change. */
export function microcompact(draft: Draft, options: CompactOptions): Draft {
  return inOldMessages(withoutCopies(draft, options), options, (message, line) =>
    isReduced(contentText(message.content)) ? line() : undefined,
  )
}

/** The first phase of a summary: of every longer result outside the tail only the line is left that says what was done. */
export function pruneResults(draft: Draft, options: CompactOptions): Draft {
  return inOldMessages(withoutCopies(draft, options), options, (message, line) => {
    const text = contentText(message.content)
    const hasImage = typeof message.content !== "string" && message.content.some((part) => part.type === "image_url")
    return hasImage || isLongerThan(text, SHORT_RESULT_CHARS) ? line() : undefined
  })
}

const SHORT_RESULT_CHARS = 200

function inOldMessages(
  draft: Draft,
  options: CompactOptions,
  lineFor: (message: ToolMessage, line: () => string) => string | undefined,
): Draft {
  const calls = callsOfResults(draft)
  const latestReply = draft.messages.findLast((message) => message.role === "assistant")
  return reshape(draft, (message, index) => {
    if (index >= options.tailStart || options.pinned.has(message)) return message
    switch (message.role) {
      case "assistant": {
        const light = message === latestReply ? message : withoutReasoning(message)
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

/** The one-line form of a result, from the call and the result as they were before anything was shortened. */
function digestOf(
  message: ToolMessage,
  call: ToolCall | undefined,
  { draft, digest }: { readonly draft: Draft; readonly digest: CompactOptions["digest"] },
): string {
  const args = call?.function.arguments ?? ""
  return digest(digestedCall(message.tool_name, { args, result: contentText(originOf(draft, message).content) }))
}

/** Of equal results, and of repeated listings, the newest stays and the older ones point to it. */
function withoutCopies(draft: Draft, { pinned }: CompactOptions): Draft {
  const calls = callsOfResults(draft)
  const newest = new Map<string, ToolMessage[]>()
  const listings = new Map<string, ToolMessage>()
  const pointers = new Map<Message, string>()
  for (const message of draft.messages.toReversed()) {
    if (message.role !== "tool" || typeof message.content !== "string") continue
    const text = message.content
    if (!isLongerThan(text, SHORT_RESULT_CHARS - 1)) continue
    const alike = newest.get(outlineOf(text)) ?? []
    const same = alike.find((later) => later.content === text)
    const listing = listingKey(message, calls.get(message))
    const later = listing === undefined ? undefined : listings.get(listing)
    if (same !== undefined) pointers.set(message, copyLine(same, "The same result came again later"))
    else if (later !== undefined) pointers.set(message, copyLine(later, "A newer form of this listing came later"))
    else newest.set(outlineOf(text), [...alike, message])
    if (listing !== undefined && later === undefined) listings.set(listing, message)
  }
  return reshape(draft, (message) => {
    const line = pointers.get(message)
    return line === undefined || message.role !== "tool" || pinned.has(message)
      ? message
      : { ...message, content: line }
  })
}

/** Equal texts have the same; comparing these first is cheaper than comparing long texts. */
function outlineOf(text: string): string {
  return `${text.length} ${text.slice(0, 80)} ${text.slice(-80)}`
}

function copyLine(newest: ToolMessage, what: string): string {
  return `[${what}: see the result of ${newest.tool_name}, call ${newest.tool_call_id}]`
}

const LISTINGS: ReadonlySet<string> = new Set(["tool_search", "tool_describe", "skill_view", "skills_list"])
const MCP_LISTING = /^mcp_\w*list/u

/** The same for calls that ask for the same listing. */
function listingKey(message: ToolMessage, call: ToolCall | undefined): string | undefined {
  if (call === undefined || !(LISTINGS.has(message.tool_name) || MCP_LISTING.test(message.tool_name))) return undefined
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

/** What does not parse stays as it is: half of broken JSON would be more broken. */
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

/** `reasoning` never goes back to a model and stays. */
function withoutReasoning(message: AssistantMessage): AssistantMessage {
  const {
    reasoning_content: content,
    reasoning_details: details,
    codex_reasoning_items: items,
    codex_message_items: texts,
    anthropic_content_blocks: blocks,
    ...rest
  } = message
  return [content, details, items, texts, blocks].every((carrier) => carrier === undefined) ? message : rest
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
