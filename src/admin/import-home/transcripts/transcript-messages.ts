import { assertNever } from "../../../base/assert-never.ts"
import { sha256Hex } from "../../../base/random-and-hash.ts"
import { ellipsize, scrubSurrogates } from "../../../base/text.ts"
import type { AssistantMessage, ToolCall } from "../../../protocol/message.ts"
import type { StoredMessage } from "../../../state/store.ts"
import type { TranscriptCall, TranscriptEntry } from "./transcript.ts"

/** Turns the entries of a transcript into messages. Parts of one reply become one message. */
export interface MessageAssembler {
  /** Returns the messages that are complete now. `line` identifies the line in later imports. */
  add(entry: TranscriptEntry, line: string): readonly StoredMessage[]
  /** Completes the last message. */
  flush(): readonly StoredMessage[]
  /** Results without a call, and summaries of messages that are imported themselves. */
  readonly leftOut: () => number
}

/** More is never shown to a model, and tools of Hermes return less. */
const MAX_TEXT_CHARS = 200_000
const TRUNCATED = "\n[… The rest was not imported.]"
const MAX_NAME_CHARS = 64

export function createMessageAssembler({
  redact,
  startedAt,
}: {
  readonly redact: (text: string) => string
  readonly startedAt: number
}): MessageAssembler {
  let pending: PendingReply | undefined
  let isFirst = true
  let time = startedAt
  let leftOut = 0
  const openCalls = new Map<string, string>()

  const clean = (text: string): string => ellipsize(redact(scrubSurrogates(text)), MAX_TEXT_CHARS, TRUNCATED)
  const flush = (): readonly StoredMessage[] => {
    if (pending === undefined) return []
    const { texts, reasonings, calls, timestamp, line } = pending
    pending = undefined
    // Thoughts alone are no reply.
    if (texts.length === 0 && calls.length === 0) return []
    const message: AssistantMessage = {
      role: "assistant",
      content: clean(texts.join("\n\n")),
      ...(reasonings.length > 0 && { reasoning: clean(reasonings.join("\n\n")) }),
      ...(calls.length > 0 && { tool_calls: calls.map((call) => toolCall(call, clean)) }),
      timestamp,
    }
    return [{ ...message, platformMessageId: line }]
  }
  const add = (entry: TranscriptEntry, line: string): readonly StoredMessage[] => {
    time = entry.at ?? time
    const wasFirst = isFirst
    isFirst = false
    switch (entry.type) {
      case "assistant": {
        const completed = pending !== undefined && pending.reply !== entry.reply ? flush() : []
        pending ??= { reply: entry.reply, texts: [], reasonings: [], calls: [], timestamp: time, line }
        pending.line = line
        if (entry.text !== "") pending.texts.push(entry.text)
        if (entry.reasoning !== "") pending.reasonings.push(entry.reasoning)
        for (const call of entry.calls) {
          if (openCalls.has(call.id)) continue
          openCalls.set(call.id, toolName(call.name))
          pending.calls.push(call)
        }
        return completed
      }
      case "user":
      case "summary": {
        // The messages that a summary stands for are imported, unless the transcript starts with it.
        if (entry.text === "" || (entry.type === "summary" && !wasFirst)) {
          leftOut += 1
          return []
        }
        // The text comes from a file of another program: it must not pass for what the user typed in Hermes.
        const provenance = "file"
        return [
          ...flush(),
          { role: "user", content: clean(entry.text), timestamp: time, provenance, platformMessageId: line },
        ]
      }
      case "result": {
        const name = openCalls.get(entry.call)
        if (name === undefined) {
          leftOut += 1
          return []
        }
        openCalls.delete(entry.call)
        const result = {
          role: "tool",
          tool_call_id: callId(entry.call),
          tool_name: name,
          content: clean(entry.text),
        } as const
        return [...flush(), { ...result, timestamp: time, provenance: "command", platformMessageId: line }]
      }
      default:
        return assertNever(entry)
    }
  }
  return { add, flush, leftOut: () => leftOut }
}

interface PendingReply {
  readonly reply: string | undefined
  readonly texts: string[]
  readonly reasonings: string[]
  readonly calls: TranscriptCall[]
  readonly timestamp: number
  line: string
}

function toolCall({ id, name, arguments: text }: TranscriptCall, clean: (text: string) => string): ToolCall {
  const cleaned = clean(text)
  return {
    id: callId(id),
    type: "function",
    function: { name: toolName(name), arguments: isJson(cleaned) ? cleaned : "{}" },
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** As every provider accepts it. Calls and their results keep belonging together. */
function callId(id: string): string {
  return /^[\w-]{1,64}$/u.test(id) ? id : `call_${sha256Hex(id).slice(0, 24)}`
}

/** As every provider accepts it. */
function toolName(name: string): string {
  return name.replaceAll(/[^\w-]/gu, "_").slice(0, MAX_NAME_CHARS) || "unknown"
}
