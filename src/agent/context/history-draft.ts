import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../../protocol/message.ts"

/** A history during compression: its current messages, and the original of each changed one. */
export interface HistoryDraft {
  readonly messages: readonly Message[]
  /** Changed message → its form before the first layer. */
  readonly originals: ReadonlyMap<Message, Message>
}

export function startDraft(messages: readonly Message[]): HistoryDraft {
  return { messages, originals: new Map() }
}

/** Replaces single messages. Returns the same draft when `change` returned every message unchanged. */
export function mapMessages(draft: HistoryDraft, change: (message: Message, index: number) => Message): HistoryDraft {
  const originals = new Map(draft.originals)
  let changed = false
  const messages = draft.messages.map((message, index) => {
    const next = change(message, index)
    if (next === message) return message
    changed = true
    originals.set(next, originalOf(draft, message))
    return next
  })
  return changed ? { messages, originals } : draft
}

/** Replaces all messages. `changed` maps each changed message to the one of the draft that it replaces. */
export function replaceDraftMessages(
  draft: HistoryDraft,
  messages: readonly Message[],
  changed: ReadonlyMap<Message, Message> = new Map(),
): HistoryDraft {
  const originals = new Map(draft.originals)
  for (const [next, before] of changed) originals.set(next, originalOf(draft, before))
  return { messages, originals }
}

export function originalOf(draft: HistoryDraft, message: Message): Message {
  return draft.originals.get(message) ?? message
}

/** Each changed message that is still in the draft → its original. */
export function changedMessages(draft: HistoryDraft): ReadonlyMap<Message, Message> {
  return new Map(
    draft.messages.flatMap((message) => {
      const original = draft.originals.get(message)
      return original === undefined ? [] : [[message, original] as const]
    }),
  )
}

/** The original call of each result, with its arguments before they were shortened. */
export function callsOfResults(draft: HistoryDraft): ReadonlyMap<Message, ToolCall> {
  const found = new Map<Message, ToolCall>()
  let calls = new Map<string, ToolCall>()
  for (const message of draft.messages) {
    if (message.role === "assistant") calls = callsById(originalOf(draft, message))
    const call = message.role === "tool" ? calls.get(message.tool_call_id) : undefined
    if (call !== undefined) found.set(message, call)
  }
  return found
}

function callsById(message: Message): Map<string, ToolCall> {
  const calls = message.role === "assistant" ? (message.tool_calls ?? []) : []
  return new Map(calls.map((call) => [call.id, call]))
}

/** An assistant message and the results of its calls; a compression never splits them. */
export interface ToolGroup {
  readonly assistant: AssistantMessage
  readonly results: readonly ToolMessage[]
}

export function toolGroups(messages: readonly Message[]): readonly ToolGroup[] {
  const groups: { assistant: AssistantMessage; results: ToolMessage[] }[] = []
  for (const message of messages) {
    if (message.role === "assistant") groups.push({ assistant: message, results: [] })
    else if (message.role === "tool") groups.at(-1)?.results.push(message)
  }
  return groups
}
