import { contentText, hasCarriers, withoutCarriers } from "../protocol/message.ts"
import type { Message, SentForm } from "../protocol/message.ts"

/** Converts a stored message to the form in which it is sent. Called when a session is loaded: histories in memory hold the sent form. */
export function toSentForm(stored: Message): Message {
  if (stored.role === "system" || stored.shown === undefined) return stored
  const { shown, ...message } = stored
  if (message.role === "user" && shown.content !== undefined)
    return { ...message, content: shown.content, typed: message.typed ?? contentText(message.content) }
  if (message.role !== "assistant") return { ...message, content: shown.content ?? message.content }
  const shortened = shown.arguments ?? {}
  const calls = message.tool_calls?.map((call) => {
    const text = Object.hasOwn(shortened, call.id) ? shortened[call.id] : undefined
    return text === undefined ? call : { ...call, function: { ...call.function, arguments: text } }
  })
  const kept = shown.reasoning === "dropped" ? withoutCarriers(message) : message
  return { ...kept, content: shown.content ?? message.content, ...(calls === undefined ? {} : { tool_calls: calls }) }
}

/** What is stored with a message so that a resumed session sends it in this form again. */
export function sentForm(sent: Message): SentForm {
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
