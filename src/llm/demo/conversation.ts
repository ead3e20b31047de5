import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { contentText } from "../../protocol/message.ts"
import type { AssistantMessage, Message, ToolMessage } from "../../protocol/message.ts"
import type { ModelRequest } from "../model.ts"

/** What the demo model knows: everything is read from the request, nothing is kept between two of them. */
export interface Conversation {
  /** The person's latest message. */
  readonly asked: string
  /** The calls made since then, in order. */
  readonly done: readonly DoneCall[]
  /** Whether no answer was given in this session yet. */
  readonly isFirstAnswer: boolean
  /** The file that was worked on last before the latest message: what "it" means there. */
  readonly lastPath: string | undefined
  readonly tools: ReadonlySet<string>
}

export interface DoneCall {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  readonly result: CallResult
}

/** `fields` is empty when the result was not a JSON object; `text` is what the model was shown. */
export interface CallResult {
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
}

export function readConversation(request: ModelRequest): Conversation {
  const at = request.messages.findLastIndex((message) => message.role === "user")
  const question = request.messages[at]
  const before = request.messages.slice(0, Math.max(at, 0))
  return {
    asked: question?.role === "user" ? contentText(question.content).trim() : "",
    done: doneCalls(request.messages.slice(at + 1)),
    isFirstAnswer: !request.messages.some((message) => message.role === "assistant" && !hasCalls(message)),
    lastPath: lastPath(before),
    tools: new Set(request.tools.map((tool) => tool.name)),
  }
}

function doneCalls(messages: readonly Message[]): readonly DoneCall[] {
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
  const text = contentText(message.content)
  const parsed = parseJson(text) ?? parseJson(leadingObject(text))
  return { text, fields: isRecord(parsed) ? parsed : {} }
}

/** The object a text begins with: notices for the model may follow the JSON of a result. */
function leadingObject(text: string): string {
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (quoted) {
      if (character === "\\") at += 1
      else if (character === '"') quoted = false
    } else if (character === '"') quoted = true
    else if (character === "{") depth += 1
    else if (character === "}") depth -= 1
    if (depth === 0) return text.slice(0, at + 1)
  }
  return ""
}
