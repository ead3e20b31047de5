import type { ModelReply } from "../llm/model.ts"
import { contentText } from "../protocol/message.ts"
import type { Message } from "../protocol/message.ts"
import { askModel } from "./ask-model.ts"
import type { Ask } from "./ask-model.ts"
import { nextReply } from "./next-reply.ts"
import { bill, say, storeReply, toMessage } from "./store-reply.ts"
import { appendToResult } from "./tool-round.ts"
import type { Steps, Turn } from "./turn.ts"
import { limitEnd, stoppedEnd } from "./turn-end.ts"
import type { Tally, TurnEnd } from "./turn-end.ts"

/**
 * The budget is used up. A model that was in the middle of its work gets one more request, in which it is told that the next
 * reply is the last; one that still calls tools is asked for a summary without any.
 */
export async function* endAtLimit(turn: Turn, progress: Ask & { readonly tally: Tally }): Steps<TurnEnd> {
  const { tally } = progress
  const last = turn.conversation.history.at(-1)
  const limit = { used: turn.budget.used, max: turn.budget.max }
  if (last?.role === "tool") {
    await appendToResult(turn, last, limitNote(turn.budget.max))
    const asked = yield* nextReply(turn, progress)
    if (asked.kind === "end") return asked.end
    const text = asked.reply.toolCalls.length === 0 ? (asked.reply.content?.trim() ?? "") : ""
    if (text !== "" && asked.reply.ending !== "cut-call") return yield* lastWords(turn, asked.reply, { limit, tally })
    await turn.journal.append([], await bill(turn, asked.reply, tally))
  }
  const summary: Message = { role: "user", content: summaryRequest(turn.budget.max), synthetic: "max_iterations" }
  for (let attempt = 0; attempt < 2; attempt += 1) {
    if (turn.signal.aborted) return stoppedEnd("interrupted_by_user", turn, tally)
    tally.apiCalls += 1
    const outcome = yield* askModel(turn, { scaffold: [summary], outputCap: undefined, toolChoice: "none" })
    if (outcome.kind === "aborted") return stoppedEnd("interrupted_during_api_call", turn, tally)
    if (outcome.kind === "failed") break
    if ((outcome.reply.content?.trim() ?? "") !== "") return yield* lastWords(turn, outcome.reply, { limit, tally })
    await turn.journal.append([], await bill(turn, outcome.reply, tally))
  }
  const text = `I stopped because the limit of ${limit.max} rounds for one turn is reached. Say "continue" to go on.`
  await say(turn, text)
  return limitEnd(limit, text, tally)
}

async function* lastWords(
  turn: Turn,
  reply: ModelReply,
  end: { readonly limit: { readonly used: number; readonly max: number }; readonly tally: Tally },
): Steps<TurnEnd> {
  const message = toMessage({ ...reply, toolCalls: [] }, [], turn)
  yield* storeReply(turn, { message, reply }, end.tally)
  return limitEnd(end.limit, contentText(message.content), end.tally)
}

function limitNote(max: number): string {
  return `[The limit of ${max} rounds for this turn is reached. No further tool call will run: your next reply must be the final answer.]`
}

function summaryRequest(max: number): string {
  return `[The limit of ${max} rounds for this turn is reached and no tool can be used any more. Say in a few sentences what you found and did, and what is left to do.]`
}
