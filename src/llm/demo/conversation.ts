import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { contentText } from "../../protocol/message.ts"
import type { AssistantMessage, Message, ToolMessage } from "../../protocol/message.ts"
import type { ModelRequest } from "../model.ts"

/** The state of the demo model, read from the request alone; nothing is stored between requests. */
export interface DemoConversation {
  /** The user's latest message. */
  readonly userMessage: string
  /** The calls since then, in order. */
  readonly completedCalls: readonly CompletedCall[]
  /** Whether the session has no complete reply yet. */
  readonly isFirstReply: boolean
  /** The file used last before the latest message, which "it" refers to. */
  readonly lastPath: string | undefined
  readonly tools: ReadonlySet<string>
}

export interface CompletedCall {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  readonly result: CallResult
}

/** `text` is the result as sent to the model; `fields` is empty unless it is a JSON object. */
export interface CallResult {
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
}

export function readDemoConversation(request: ModelRequest): DemoConversation {
  const index = request.messages.findLastIndex((message) => message.role === "user")
  const question = request.messages[index]
  const before = request.messages.slice(0, Math.max(index, 0))
  return {
    userMessage: question?.role === "user" ? contentText(question.content).trim() : "",
    completedCalls: completedCallsIn(request.messages.slice(index + 1)),
    isFirstReply: !request.messages.some((message) => message.role === "assistant" && !hasCalls(message)),
    lastPath: lastPath(before),
    tools: new Set(request.tools.map((tool) => tool.name)),
  }
}

function completedCallsIn(messages: readonly Message[]): readonly CompletedCall[] {
  const results = new Map<string, ToolMessage>()
  for (const message of messages) {
    if (message.role === "tool") results.set(message.tool_call_id, message)
  }
  return callsOf(messages).map((call) => ({
    tool: call.function.name,
    args: argumentsOf(call.function.arguments),
    result: readResult(results.get(call.id)),
  }))
}

function lastPath(messages: readonly Message[]): string | undefined {
  const paths = callsOf(messages).flatMap((call) => stringField(argumentsOf(call.function.arguments), "path") ?? [])
  return paths.at(-1)
}

function callsOf(messages: readonly Message[]) {
  return messages.flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []))
}

function hasCalls(message: AssistantMessage): boolean {
  return message.tool_calls !== undefined && message.tool_calls.length > 0
}

function argumentsOf(json: string): Readonly<Record<string, unknown>> {
  const parsed = parseJson(json)
  return isRecord(parsed) ? parsed : {}
}

function readResult(message: ToolMessage | undefined): CallResult {
  if (message === undefined) return { text: "", fields: { error: "no result came back" } }
  const text = contentText(message.content).replaceAll(FENCE_LINES, "")
  const parsed = parseJson(text) ?? parseJson(leadingObject(text))
  return { text, fields: isRecord(parsed) ? parsed : {} }
}

/** Results of files and commands are sent between two lines that mark them as data. */
const FENCE_LINES = /^\[data [0-9a-f]{8}\]\n|\n\[\/data [0-9a-f]{8}\]/gu

/** The JSON object at the start of the text: notices for the model may follow it. */
function leadingObject(text: string): string {
  let depth = 0
  let quoted = false
  for (let position = 0; position < text.length; position += 1) {
    const character = text[position]
    if (quoted) {
      if (character === "\\") position += 1
      else if (character === '"') quoted = false
    } else if (character === '"') quoted = true
    else if (character === "{") depth += 1
    else if (character === "}") depth -= 1
    if (depth === 0) return text.slice(0, position + 1)
  }
  return ""
}
