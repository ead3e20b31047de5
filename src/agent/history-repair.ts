import { canonicalJson, parseJson } from "../base/json.ts"
import type { AssistantMessage, Message, Part, ToolCall, ToolMessage, UserMessage } from "../protocol/message.ts"

/**
 * Returns a history that every wire accepts: tool messages directly follow the call they answer, and consecutive user messages are
 * merged. Messages that need no repair stay the same objects, so their cached encoding stays valid.
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

/** Results for the last calls without one: the process ended while they ran. The calls are reported, never run again. */
export function resultsForUnsettledCalls(messages: readonly Message[]): readonly ToolMessage[] {
  const lastAssistant = messages.findLastIndex((message) => message.role === "assistant")
  const assistant = messages[lastAssistant]
  return assistant?.role === "assistant" ? missingResults(assistant, resultsAfter(messages, lastAssistant)) : []
}

/**
 * Adds a result to every call without one, because every wire rejects such calls. They are left behind when storing failed in the
 * middle of a turn and the user continued.
 */
export function withEveryCallSettled(messages: readonly Message[]): readonly Message[] {
  const settled: Message[] = []
  let open: ToolMessage[] = []
  for (const [index, message] of messages.entries()) {
    if (message.role !== "tool") settled.push(...open.splice(0))
    settled.push(message)
    if (message.role === "assistant") open = missingResults(message, resultsAfter(messages, index))
  }
  settled.push(...open)
  return settled.length === messages.length ? messages : settled
}

/** The tool messages directly after an assistant message. */
function resultsAfter(messages: readonly Message[], assistant: number): readonly ToolMessage[] {
  const results: ToolMessage[] = []
  for (let index = assistant + 1, next = messages[index]; next?.role === "tool"; next = messages[index]) {
    results.push(next)
    index += 1
  }
  return results
}

function missingResults(assistant: AssistantMessage, results: readonly ToolMessage[]): ToolMessage[] {
  if (assistant.tool_calls === undefined || assistant.tool_calls.length === 0) return []
  const answered = new Set(results.map((message) => message.tool_call_id))
  return assistant.tool_calls
    .filter((call) => !answered.has(call.id))
    .map((call) => ({
      role: "tool",
      tool_call_id: call.id,
      tool_name: call.function.name,
      content: JSON.stringify({
        error:
          "The outcome of this call is unknown: Hermes stopped while it ran. It may have had effects. Check before you repeat it.",
        status: "unknown",
      }),
    }))
}

/**
 * Drops repeated calls of one reply before anything is stored or run. Different calls with the same id get distinct ids, because
 * results refer to their call by id.
 */
export function withoutDuplicateCalls(calls: readonly ToolCall[]): readonly ToolCall[] {
  const seen = new Set<string>()
  const ids = new Set<string>()
  return calls.flatMap((call) => {
    const key = `${call.function.name}\n${canonicalArguments(call.function.arguments)}`
    if (seen.has(key)) return []
    seen.add(key)
    let id = call.id
    for (let copy = 2; ids.has(id); copy += 1) id = `${call.id}_${copy}`
    ids.add(id)
    return [id === call.id ? call : { ...call, id }]
  })
}

function canonicalArguments(text: string): string {
  const parsed = parseJson(text)
  return parsed === undefined ? text : canonicalJson(parsed)
}
