import { withoutCarriers } from "../protocol/message.ts"
import type { AssistantMessage, Message, ShownForm } from "../protocol/message.ts"

/** A stored message as it is sent. Done once, when a session is loaded: histories in memory hold the sent form. */
export function asSent(stored: Message): Message {
  if (stored.role === "system" || stored.shown === undefined) return stored
  const { shown, ...message } = stored
  if (message.role !== "assistant") return { ...message, content: shown.content ?? message.content }
  const shortened = shown.arguments ?? {}
  const calls = message.tool_calls?.map((call) => {
    const text = Object.hasOwn(shortened, call.id) ? shortened[call.id] : undefined
    return text === undefined ? call : { ...call, function: { ...call.function, arguments: text } }
  })
  const kept = shown.reasoning === "dropped" ? withoutCarriers(message) : message
  return { ...kept, content: shown.content ?? message.content, ...(calls === undefined ? {} : { tool_calls: calls }) }
}

/** What must be kept beside the stored message so that a resumed session sends this form of it again. */
export function shownForm(sent: Message): ShownForm {
  if (sent.role !== "assistant") return { content: sent.content }
  const calls = sent.tool_calls ?? []
  return {
    ...(sent.content === null ? {} : { content: sent.content }),
    ...(calls.length === 0
      ? {}
      : { arguments: Object.fromEntries(calls.map((call) => [call.id, call.function.arguments])) }),
    ...(hasCarriers(sent) ? {} : { reasoning: "dropped" }),
  }
}

function hasCarriers(message: AssistantMessage): boolean {
  return (
    message.reasoning_content !== undefined ||
    message.reasoning_details !== undefined ||
    message.codex_reasoning_items !== undefined ||
    message.codex_message_items !== undefined ||
    message.anthropic_content_blocks !== undefined
  )
}
