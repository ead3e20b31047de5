import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { ModelRequest } from "../model.ts"

/** Estimates four characters per token, so that context accounting works as with a real model. */
export function estimateUsage(
  request: ModelRequest,
  reply: { readonly text: string; readonly reasoning: string; readonly calls: readonly string[] },
): Usage {
  const messageChars = request.messages.reduce((sum, message) => sum + messageLength(message), request.system.length)
  const toolChars = request.tools.reduce(
    (sum, { name, description, parameters }) =>
      sum + name.length + description.length + JSON.stringify(parameters).length,
    0,
  )
  const replyChars = reply.calls.reduce((sum, call) => sum + call.length, reply.text.length + reply.reasoning.length)
  return {
    input: tokens(messageChars + toolChars),
    output: tokens(replyChars),
    cacheRead: 0,
    cacheWrite: 0,
    reasoning: tokens(reply.reasoning.length),
  }
}

function messageLength(message: Message): number {
  if (message.role === "system") return message.content.length
  const text = contentText(message.content)
  const calls = message.role === "assistant" ? (message.tool_calls ?? []) : []
  return calls.reduce(
    (sum, call) => sum + call.function.name.length + call.function.arguments.length,
    text.length + (message.injected?.length ?? 0),
  )
}

function tokens(characters: number): number {
  return Math.ceil(characters / 4)
}
