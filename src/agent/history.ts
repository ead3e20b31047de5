import type { Message, Part, ToolCall, ToolMessage, UserMessage } from "../protocol/message.ts"

/**
 * A history that every wire accepts: tool messages only behind the call they answer, user messages never twice in a row. The
 * given messages are kept as they are where nothing is wrong, so that their encoded bytes stay the same.
 */
export function repairSequence(messages: readonly Message[]): {
  readonly messages: readonly Message[]
  readonly repairs: number
} {
  const repaired: Message[] = []
  let repairs = 0
  let open: Set<string> | undefined
  for (const message of messages) {
    if (message.role === "tool") {
      if (open?.delete(message.tool_call_id) === true) repaired.push(message)
      else repairs += 1
      continue
    }
    open = message.role === "assistant" ? new Set((message.tool_calls ?? []).map((call) => call.id)) : undefined
    const last = repaired.at(-1)
    if (message.role === "user" && last?.role === "user") {
      repaired[repaired.length - 1] = mergeUsers(last, message)
      repairs += 1
    } else {
      repaired.push(message)
    }
  }
  return { messages: repairs === 0 ? messages : repaired, repairs }
}

function mergeUsers(first: UserMessage, second: UserMessage): UserMessage {
  const injected = [first.injected, second.injected].filter((text) => text !== undefined).join("\n\n")
  const content =
    typeof first.content === "string" && typeof second.content === "string"
      ? `${first.content}\n\n${second.content}`
      : [...parts(first.content), ...parts(second.content)]
  const { injected: _dropped, ...rest } = second
  return { ...rest, content, ...(injected === "" ? {} : { injected }) }
}

function parts(content: string | readonly Part[]): readonly Part[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content
}

/** Calls whose result was never stored: the process died while they ran. They are reported, never run again. */
export function unsettledCalls(messages: readonly Message[]): readonly ToolMessage[] {
  const lastAssistant = messages.findLastIndex((message) => message.role === "assistant")
  const assistant = messages[lastAssistant]
  if (assistant === undefined || assistant.role !== "assistant" || (assistant.tool_calls ?? []).length === 0) return []
  const answered = new Set(
    messages.slice(lastAssistant + 1).flatMap((message) => (message.role === "tool" ? [message.tool_call_id] : [])),
  )
  return (assistant.tool_calls ?? [])
    .filter((call) => !answered.has(call.id))
    .map((call) => ({
      role: "tool",
      tool_call_id: call.id,
      tool_name: call.function.name,
      content: JSON.stringify({
        error:
          "The outcome of this call is unknown: Hermes was ended while it ran. It may have had effects. Look before doing it again.",
        status: "unknown",
      }),
    }))
}

/** The same call twice in one reply is done once: the copies are dropped before anything is stored or run. */
export function withoutDuplicates(calls: readonly ToolCall[]): readonly ToolCall[] {
  const seen = new Set<string>()
  return calls.filter((call) => {
    const key = `${call.function.name}\n${call.function.arguments}`
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}
