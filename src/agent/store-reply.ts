import type { ModelReply } from "../llm/model.ts"
import type { AssistantMessage, FinishReason, ToolCall } from "../protocol/message.ts"
import { NO_USAGE, addUsage, promptTokens } from "../protocol/usage.ts"
import type { BilledCall } from "./journal.ts"
import { redactArgumentText } from "./redact-arguments.ts"
import type { PartialReply } from "./partial-reply.ts"
import type { Steps } from "./steps.ts"
import type { Turn } from "./turn.ts"
import type { Tally } from "./turn-end.ts"

/** Stores the reply before any of its calls runs and before `message-end` is emitted. */
export async function* storeReply(
  turn: Turn,
  { message, reply }: { readonly message: AssistantMessage; readonly reply: ModelReply },
  { tally, partial }: { readonly tally: Tally; readonly partial: PartialReply },
): Steps<void> {
  const call = await recordUsage(turn, reply, tally)
  const { usage, cost } = call
  await turn.conversation.append([message], call)
  partial.clear()
  yield {
    type: "message-end",
    streamed: true,
    message: {
      id: `${turn.runId}.${tally.apiCalls}`,
      role: "assistant",
      text: typeof message.content === "string" ? message.content : "",
      finishReason: finishReasonOf(reply),
      toolCalls: message.tool_calls ?? [],
    },
  }
  yield {
    type: "usage",
    usage,
    contextTokens: promptTokens(usage) + usage.output,
    contextLength: turn.model.runtime.contextLength,
    ...(cost.usd === null ? {} : { costUsd: cost.usd }),
  }
  const warning = turn.spending.warning()
  if (warning !== undefined) yield { type: "status", kind: "notice", text: warning }
}

/** Adds the usage of a call to the totals of the turn, and its cost to those of the session. */
export async function recordUsage(turn: Turn, reply: ModelReply, tally: Tally): Promise<BilledCall> {
  const usage = reply.usage ?? NO_USAGE
  const cost = await turn.spending.record(turn.model.runtime, reply.usage)
  turn.compression.noteUsage(reply.usage)
  tally.usage = addUsage(tally.usage, usage)
  return { usage, cost, runtime: turn.model.runtime }
}

/** The reply as it is stored and sent again. Secrets are masked here; the calls themselves run with the original arguments. */
export function toAssistantMessage(reply: ModelReply, calls: readonly ToolCall[], turn: Turn): AssistantMessage {
  return {
    role: "assistant",
    content: reply.content === null ? null : turn.redact(reply.content),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => withMaskedArguments(call, turn)) }),
    ...(reply.reasoning === null ? {} : { reasoning: turn.redact(reply.reasoning) }),
    ...reply.carriers,
    finish_reason: finishReasonOf(reply),
  }
}

/** A stream that broke has no finish reason of its own. */
function finishReasonOf({ ending, finishReason }: ModelReply): FinishReason {
  return ending === "cut-text" ? "incomplete" : finishReason
}

function withMaskedArguments(call: ToolCall, turn: Turn): ToolCall {
  const masked = redactArgumentText(call.function.arguments, (text) => turn.redact(text, { codeFile: true }))
  return masked === call.function.arguments ? call : { ...call, function: { ...call.function, arguments: masked } }
}

/** Stores a text by Hermes as the answer of the turn, so that the next user message follows an assistant message. */
export async function storeAssistantText(turn: Turn, content: string): Promise<void> {
  const message: AssistantMessage = { role: "assistant", content, finish_reason: "stop" }
  await turn.conversation.append([message])
}
