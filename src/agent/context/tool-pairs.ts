import type { AssistantMessage, Message, ToolMessage } from "../../protocol/message.ts"

const RESULT_IS_GONE = "[The result of this call is in the earlier part of the conversation, which was summarised.]"

/**
 * Removes results without their call and adds a placeholder result to calls without one. Calls of the last message are still
 * running and stay open.
 */
export function withWholePairs(messages: readonly Message[]): readonly Message[] {
  const paired: Message[] = []
  let open: AssistantMessage | undefined
  let answered = new Set<string>()
  const settle = (): void => {
    for (const call of open?.tool_calls ?? []) {
      if (answered.has(call.id)) continue
      paired.push({ role: "tool", tool_call_id: call.id, tool_name: call.function.name, content: RESULT_IS_GONE })
    }
  }
  for (const message of messages) {
    if (message.role === "tool") {
      const id = open === undefined ? undefined : answeredCall(open, message)
      if (id === undefined || answered.has(id)) continue
      answered.add(id)
      paired.push(message)
      continue
    }
    settle()
    open = message.role === "assistant" ? message : undefined
    answered = new Set()
    paired.push(message)
  }
  const same = paired.length === messages.length && paired.every((message, index) => message === messages[index])
  return same ? messages : paired
}

function answeredCall(assistant: AssistantMessage, { tool_call_id: id }: ToolMessage): string | undefined {
  const calls = assistant.tool_calls ?? []
  return (calls.find((call) => call.call_id === id) ?? calls.find((call) => call.id === id))?.id
}
