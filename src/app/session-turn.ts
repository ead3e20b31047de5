import { epochSeconds } from "../base/clock.ts"
import { errorMessage } from "../base/system-error.ts"
import { scrubSurrogates } from "../base/text.ts"
import type { Interactions } from "../agent/interactions.ts"
import { IterationBudget } from "../agent/iteration-budget.ts"
import { runTurn } from "../agent/loop.ts"
import type { Steering } from "../agent/steering.ts"
import { brokenEnd, createTally } from "../agent/turn-end.ts"
import type { TurnEnd } from "../agent/turn-end.ts"
import { completionExplainer, mutationFooter } from "../agent/turn-footer.ts"
import type { ModelClient } from "../llm/model.ts"
import type { AgentEventBody, RunResult } from "../protocol/events.ts"
import { contentText } from "../protocol/message.ts"
import type { Message, UserInput } from "../protocol/message.ts"
import type { SessionFacts, SessionParts } from "./session-parts.ts"

/** From `run-start` to `run-end`, whatever happens in between. */
export async function* turnEvents(input: UserInput, run: RunInput): AsyncGenerator<AgentEventBody, void, void> {
  const { parts } = run
  const started = parts.clock.now()
  const { facts } = run.current
  yield { type: "run-start", ...facts }
  if (facts.unsaved !== undefined) {
    yield { type: "status", kind: "warning", text: `This conversation is not saved: ${facts.unsaved}` }
  }
  for (const text of run.current.warnings) yield { type: "status", kind: "warning", text }
  let end: TurnEnd
  try {
    end = yield* storeAndAnswer(input, run)
    if (end.outcome === "completed") yield* parts.compression.afterAnswer(run.current.model, run.signal)
  } catch (error) {
    end = brokenEnd(error, createTally())
  }
  const leftover = run.steering.take()
  const pendingSteer = end.outcome === "interrupted" ? undefined : leftover
  const { failedWrites: _paths, ...totals } = end.totals
  const result: RunResult = {
    finalResponse: withFooters(end, parts.footers),
    exitReason: end.exitReason,
    messages: [...parts.conversation.history],
    // Who was asked last: the first choice, or what took its place in this turn.
    model: run.current.model.runtime.model,
    provider: run.current.model.runtime.provider,
    sessionId: parts.conversation.id,
    ...totals,
    durationMs: parts.clock.now() - started,
    ...(end.partial === undefined ? {} : { partial: end.partial }),
    ...(end.error === undefined ? {} : { error: end.error }),
    ...(pendingSteer === undefined ? {} : { pendingSteer }),
  }
  yield { type: "run-end", outcome: end.outcome, result }
}

/** What a change of the model replaces. */
export interface Current {
  readonly model: ModelClient
  readonly facts: SessionFacts
  /** Told to the model with the next message. */
  readonly note: string | undefined
  /** For the person, with the next turn. */
  readonly warnings: readonly string[]
}

export interface RunInput {
  readonly parts: SessionParts
  readonly current: Current
  readonly interactions: Interactions
  readonly steering: Steering
  readonly signal: AbortSignal
  readonly runId: string
  readonly notice: boolean
}

/** Said to the person below the answer; no part of the conversation. */
function withFooters(end: TurnEnd, footers: SessionParts["footers"]): string | null {
  const { finalResponse, exitReason, totals } = end
  if (finalResponse === null) return null
  const lines = [
    footers.failedWrites ? mutationFooter({ failedWrites: totals.failedWrites, finalText: finalResponse }) : "",
    footers.explainEnd && end.outcome !== "completed"
      ? completionExplainer({ finalText: finalResponse, exitReason })
      : "",
  ].filter((line) => line !== "")
  return [finalResponse, ...lines].join("\n\n")
}

/** The person's words are durable before the first request leaves (law 2). */
async function* storeAndAnswer(input: UserInput, run: RunInput): AsyncGenerator<AgentEventBody, TurnEnd, void> {
  const { parts, current, signal } = run
  const { conversation } = parts
  yield* parts.catchUp(undefined)
  const words = contentText(input)
  const recalled = await parts.companions.beforeTurn({
    words,
    history: conversation.history,
    model: current.model,
    signal,
  })
  const injected = [current.note, recalled].filter((text) => text !== undefined && text !== "").join("\n\n")
  const message: Message = {
    role: "user",
    content: typeof input === "string" ? scrubSurrogates(input) : input,
    timestamp: epochSeconds(parts.clock),
    ...(run.notice ? { synthetic: "background" } : {}),
    ...(injected === "" ? {} : { injected }),
  }
  await parts.log.append([message])
  conversation.history.push(message)
  current.model.beginTurn()
  parts.dispatch.guardrails?.beginTurn()
  return yield* runTurn({
    runId: run.runId,
    model: current.model,
    tools: parts.tools,
    conversation,
    journal: parts.log,
    compression: parts.compression,
    dispatch: { ...parts.dispatch, signal, interactions: run.interactions },
    budget: new IterationBudget(parts.maxIterations),
    budgetPressure: parts.budgetPressure,
    steering: run.steering,
    spending: parts.spending,
    sampling: parts.sampling,
    signal,
    redact: parts.redact,
    maskStream: parts.maskStream,
    report: (fault) => {
      parts.diagnostics.error(`a round failed inside Hermes and the turn went on: ${errorMessage(fault)}`)
    },
  })
}
