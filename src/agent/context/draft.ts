import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../../protocol/message.ts"

/** A history on its way through the layers: what it is now, and what each changed message was before the first layer. */
export interface Draft {
  readonly messages: readonly Message[]
  readonly origins: ReadonlyMap<Message, Message>
}

export function startDraft(messages: readonly Message[]): Draft {
  return { messages, origins: new Map() }
}

/** Changes single messages; what comes back as the same object counts as untouched. Gives the same draft when nothing changed. */
export function reshape(draft: Draft, change: (message: Message, index: number) => Message): Draft {
  const origins = new Map(draft.origins)
  let changed = false
  const messages = draft.messages.map((message, index) => {
    const next = change(message, index)
    if (next === message) return message
    changed = true
    origins.set(next, originOf(draft, message))
    return next
  })
  return changed ? { messages, origins } : draft
}

/** Puts other messages in the place of all. `changed` names those that replace one of the draft. */
export function rearrange(
  draft: Draft,
  messages: readonly Message[],
  changed: ReadonlyMap<Message, Message> = new Map(),
): Draft {
  const origins = new Map(draft.origins)
  for (const [next, before] of changed) origins.set(next, originOf(draft, before))
  return { messages, origins }
}

export function originOf(draft: Draft, message: Message): Message {
  return draft.origins.get(message) ?? message
}

/** For each message that is still there and was changed: what it was made from. */
export function reshapedIn(draft: Draft): ReadonlyMap<Message, Message> {
  return new Map(
    draft.messages.flatMap((message) => {
      const origin = draft.origins.get(message)
      return origin === undefined ? [] : [[message, origin] as const]
    }),
  )
}

/** The call that each result answers, in its original form: shortened arguments say less. */
export function callsOfResults(draft: Draft): ReadonlyMap<Message, ToolCall> {
  const found = new Map<Message, ToolCall>()
  let calls = new Map<string, ToolCall>()
  for (const message of draft.messages) {
    if (message.role === "assistant") calls = callsById(originOf(draft, message))
    const call = message.role === "tool" ? calls.get(message.tool_call_id) : undefined
    if (call !== undefined) found.set(message, call)
  }
  return found
}

function callsById(message: Message): Map<string, ToolCall> {
  const calls = message.role === "assistant" ? (message.tool_calls ?? []) : []
  return new Map(calls.map((call) => [call.id, call]))
}

/** An assistant message with calls and the results behind it: never split. */
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
