import { foldGrowingList } from "../base/fold-growing-list.ts"
import { parseJson } from "../base/json.ts"
import { oncePerObject } from "../base/once-per-object.ts"
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../protocol/message.ts"

/**
 * A stored call whose arguments do not parse makes every later request fail. Replaces such arguments with `{}` and explains it in
 * the result of the call; adds a missing result. A message always becomes the same object, because encoded bytes are cached by identity.
 */
export function repairCallHistory(messages: readonly Message[]): readonly Message[] {
  if (!checkArguments(messages).hasBroken) return messages
  const repaired: Message[] = []
  for (let index = 0; index < messages.length;) {
    const message = messages[index]
    if (message === undefined) break
    index += 1
    const broken = message.role === "assistant" ? (message.tool_calls ?? []).filter(isBroken) : []
    if (message.role !== "assistant" || broken.length === 0) {
      repaired.push(message)
      continue
    }
    const results: ToolMessage[] = []
    for (let next = messages[index]; next?.role === "tool"; next = messages[index]) {
      results.push(next)
      index += 1
    }
    repaired.push(withoutBrokenArguments(message), ...resultsWithExplanation(results, broken))
  }
  return repaired
}

/** A request contains the whole history, so each message is checked once. */
const checkArguments = foldGrowingList(
  () => ({ hasBroken: false }),
  (checked, message: Message) => {
    checked.hasBroken ||= message.role === "assistant" && message.tool_calls?.some(isBroken) === true
  },
)

const CORRUPTED =
  "[The arguments of this call were damaged and replaced by {}. It did not do what you intended; call the tool again if you still need it.]"

function isBroken(call: ToolCall): boolean {
  return parseJson(call.function.arguments) === undefined
}

const withoutBrokenArguments = oncePerObject((message: AssistantMessage): AssistantMessage => {
  const calls = (message.tool_calls ?? []).map((call) =>
    isBroken(call) ? { ...call, function: { ...call.function, arguments: "{}" } } : call,
  )
  return { ...message, tool_calls: calls }
})

function resultsWithExplanation(results: readonly ToolMessage[], broken: readonly ToolCall[]): readonly ToolMessage[] {
  const ids = new Set(broken.map((call) => call.id))
  const missing = broken.filter((call) => results.every((result) => result.tool_call_id !== call.id))
  return [
    ...results.map((result) => (ids.has(result.tool_call_id) ? withExplanation(result) : result)),
    ...missing.map(explanationFor),
  ]
}

const explanationFor = oncePerObject((call: ToolCall): ToolMessage => ({
  role: "tool",
  content: CORRUPTED,
  tool_call_id: call.id,
  tool_name: call.function.name,
}))

const withExplanation = oncePerObject((result: ToolMessage): ToolMessage => {
  const { content } = result
  return {
    ...result,
    content: typeof content === "string" ? `${CORRUPTED}\n${content}` : [{ type: "text", text: CORRUPTED }, ...content],
  }
})
