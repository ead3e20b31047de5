import { parseJson } from "../base/json.ts"
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../protocol/message.ts"

/**
 * A stored call whose arguments do not parse makes every later request fail. Such arguments become `{}`, and the result of the
 * call says so to the model; a missing result is added. Untouched messages keep their identity, since wires cache by it.
 */
export function mendBrokenCalls(messages: readonly Message[]): readonly Message[] {
  const mended: Message[] = []
  for (let index = 0; index < messages.length;) {
    const message = messages[index]
    if (message === undefined) break
    index += 1
    const broken = message.role === "assistant" ? (message.tool_calls ?? []).filter(isBroken) : []
    if (message.role !== "assistant" || broken.length === 0) {
      mended.push(message)
      continue
    }
    const results: ToolMessage[] = []
    for (let next = messages[index]; next?.role === "tool"; next = messages[index]) {
      results.push(next)
      index += 1
    }
    mended.push(withoutBrokenArguments(message), ...explainedResults(results, broken))
  }
  return mended
}

const CORRUPTED =
  "[The arguments of this call were damaged and replaced by {}. It did not do what you meant; call the tool again if you still need it.]"

function isBroken(call: ToolCall): boolean {
  return parseJson(call.function.arguments) === undefined
}

function withoutBrokenArguments(message: AssistantMessage): AssistantMessage {
  const calls = (message.tool_calls ?? []).map((call) =>
    isBroken(call) ? { ...call, function: { ...call.function, arguments: "{}" } } : call,
  )
  return { ...message, tool_calls: calls }
}

function explainedResults(results: readonly ToolMessage[], broken: readonly ToolCall[]): readonly ToolMessage[] {
  const ids = new Set(broken.map((call) => call.id))
  const missing = broken.filter((call) => results.every((result) => result.tool_call_id !== call.id))
  return [
    ...results.map((result) => (ids.has(result.tool_call_id) ? explained(result) : result)),
    ...missing.map((call): ToolMessage => ({
      role: "tool",
      content: CORRUPTED,
      tool_call_id: call.id,
      tool_name: call.function.name,
    })),
  ]
}

function explained(result: ToolMessage): ToolMessage {
  const { content } = result
  return {
    ...result,
    content: typeof content === "string" ? `${CORRUPTED}\n${content}` : [{ type: "text", text: CORRUPTED }, ...content],
  }
}
