import type { ModelReply } from "../llm/model.ts"
import { contentText } from "../protocol/message.ts"
import type { Message } from "../protocol/message.ts"
import { discardReply } from "./partial-reply.ts"
import type { PartialReply } from "./partial-reply.ts"
import { streamReply } from "./stream-reply.ts"
import type { ReplyRequest } from "./stream-reply.ts"
import { requestReply } from "./request-reply.ts"
import { recordUsage, storeAssistantText, storeReply, toAssistantMessage } from "./store-reply.ts"
import { appendToResult } from "./run-tool-calls.ts"
import type { Steps } from "./steps.ts"
import type { Turn } from "./turn.ts"
import { limitEnd, interruptedEnd } from "./turn-end.ts"
import type { Tally, TurnEnd } from "./turn-end.ts"

/**
 * Ends a turn whose iteration budget is used up. After tool results the model gets one more request, with a note that its next
 * reply is the last. If it still calls tools, it is asked for a summary with tools disabled.
 */
export async function* finishAtIterationLimit(
  turn: Turn,
  progress: ReplyRequest & { readonly tally: Tally },
): Steps<TurnEnd> {
  const { tally, partial } = progress
  const last = turn.conversation.history.at(-1)
  const limit = { used: turn.budget.used, max: turn.budget.max }
  if (last?.role === "tool") {
    await appendToResult(turn, last, limitNote(turn.budget.max))
    const response = yield* requestReply(turn, progress)
    if (response.kind === "end") return response.end
    const { reply } = response
    const text = reply.toolCalls.length === 0 ? (reply.content?.trim() ?? "") : ""
    if (text !== "" && reply.ending !== "cut-call") return yield* storeFinalReply(turn, reply, { limit, progress })
    await turn.conversation.append([], await recordUsage(turn, reply, tally))
    yield* discardReply(partial, `the limit of ${limit.max} iterations is reached, so the last tool calls were not run`)
  }
  const summary: Message = { role: "user", content: summaryRequest(turn.budget.max), synthetic: "max_iterations" }
  for (let attempt = 0; attempt < 2; attempt += 1) {
    if (turn.signal.aborted) return interruptedEnd("interrupted_by_user", tally)
    tally.apiCalls += 1
    const outcome = yield* streamReply(turn, {
      temporaryMessages: [summary],
      maxOutputTokens: undefined,
      toolChoice: "none",
      partial,
    })
    if (outcome.kind === "aborted") return interruptedEnd("interrupted_during_api_call", tally)
    if (outcome.kind === "failed") break
    if ((outcome.reply.content?.trim() ?? "") !== "")
      return yield* storeFinalReply(turn, outcome.reply, { limit, progress })
    await turn.conversation.append([], await recordUsage(turn, outcome.reply, tally))
    // The server ignores `toolChoice`, so a second request would end in the same way.
    if (outcome.reply.toolCalls.length > 0) break
  }
  const reason = `I stopped because this turn reached its limit of ${limit.max} iterations. Type "continue" to resume.`
  const text = [partial.text.trimEnd(), reason].filter((part) => part !== "").join("\n\n")
  await storeAssistantText(turn, text)
  partial.clear()
  return limitEnd(limit, text, tally)
}

async function* storeFinalReply(
  turn: Turn,
  reply: ModelReply,
  {
    limit,
    progress: { tally, partial },
  }: {
    readonly limit: { readonly used: number; readonly max: number }
    readonly progress: { readonly tally: Tally; readonly partial: PartialReply }
  },
): Steps<TurnEnd> {
  const content = partial.earlierText + (reply.content ?? "")
  const message = toAssistantMessage({ ...reply, content, toolCalls: [] }, [], turn)
  yield* storeReply(turn, { message, reply }, { tally, partial })
  const answer = limitEnd(limit, contentText(message.content), tally)
  return reply.ending === "cut-text" ? { ...answer, partial: true } : answer
}

function limitNote(max: number): string {
  return `[This turn reached its limit of ${max} iterations. No further tool call will run: your next reply must be the final answer.]`
}

function summaryRequest(max: number): string {
  return `[This turn reached its limit of ${max} iterations and tools are disabled. Say in a few sentences what you found and did, and what is left to do.]`
}
