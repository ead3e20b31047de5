import { epochSeconds } from "../../base/clock.ts"
import { asSentence } from "../../base/sentence.ts"
import { scrubSurrogates } from "../../base/text.ts"
import { runTurn } from "../../agent/loop.ts"
import { partialReplyNote } from "../../agent/partial-reply.ts"
import { buildTurn } from "../../agent/turn.ts"
import type { Steps } from "../../agent/steps.ts"
import type { TurnRun } from "../../agent/turn.ts"
import { createTally, errorEnd, faultEnd, interruptedEnd } from "../../agent/turn-end.ts"
import type { TurnEnd } from "../../agent/turn-end.ts"
import { completionExplainer, mutationFooter } from "../../agent/turn-footer.ts"
import type { ModelClient } from "../../llm/model.ts"
import type { AgentEventBody, RunResult } from "../../protocol/events.ts"
import { contentText } from "../../protocol/message.ts"
import type { Part, UserInput, UserMessage } from "../../protocol/message.ts"
import { addUsage } from "../../protocol/usage.ts"
import { defuseSteerMarkers } from "../../toolkit/untrusted.ts"
import type { ExpandedMessage } from "../input/expand-message.ts"
import { INTERRUPTED_BEFORE_SENDING, NOT_SENT } from "../input/not-sent.ts"
import { mayNeedExpansion } from "../input/may-need-expansion.ts"
import type { PlanApproval } from "./plan-mode.ts"
import type { SessionFacts, SessionParts } from "./session-parts.ts"

/** The events of one run, from `run-start` to exactly one `run-end`. */
export async function* runEvents(input: UserInput, run: RunInput): AsyncGenerator<AgentEventBody, void, void> {
  const { parts } = run
  const started = parts.clock.now()
  yield { type: "run-start", ...run.current.facts }
  for (const text of run.current.warnings) yield { type: "status", kind: "warning", text }
  if (run.current.warnings.length > 0) parts.openingWarningsShown()
  let end: TurnEnd
  let planPath: string | undefined
  try {
    end = yield* storeAndAnswer(input, run)
    if (end.partial === true) yield { type: "status", kind: "warning", text: partialText(end) }
    if (end.outcome === "completed") yield* parts.compression.afterAnswer(run.current.model, run.signal)
    const plan = await parts.abilities.plan?.finish(end)
    if (plan !== undefined) {
      planPath = plan.path
      end = { ...end, outcome: "plan-ready", exitReason: "plan_ready" }
      yield { type: "plan-ready", requestId: run.interactions.nextId("plan"), ...plan }
    }
  } catch (error) {
    end = faultEnd(error, createTally())
  }
  const answer = end.outcome === "interrupted" ? null : end.finalResponse
  const otherAnswer = answer === null || answer === "" ? undefined : await parts.facets.transformAnswer(answer)
  if (otherAnswer !== undefined) end = { ...end, finalResponse: parts.redact(otherAnswer) }
  const notes = yield* endNotes(end, parts)
  yield runEnd(end, run, { started, notes, planPath })
}

/** The events of a command of the user: a run without a model, from `run-start` to `run-end`. */
export async function* commandEvents(command: string, run: RunInput): AsyncGenerator<AgentEventBody, void, void> {
  const started = run.parts.clock.now()
  yield { type: "run-start", ...run.current.facts }
  let end: TurnEnd
  try {
    const { runUserCommand } = await import("./run-command.ts")
    end = yield* runUserCommand(command, run)
  } catch (error) {
    end = faultEnd(error, createTally())
  }
  const notes = yield* endNotes(end, run.parts)
  yield runEnd(end, run, { started, notes, planPath: undefined })
}

function runEnd(
  end: TurnEnd,
  run: RunInput,
  more: { readonly started: number; readonly notes: readonly string[]; readonly planPath: string | undefined },
): Extract<AgentEventBody, { type: "run-end" }> {
  const { parts } = run
  const { notes, planPath } = more
  const pendingSteer = run.steering.take()
  const { failedWrites: _paths, ...totals } = end.totals
  const cost = parts.spending.takeRunCost()
  const ofChildren = parts.spending.takeChildUsage()
  const result: RunResult = {
    finalResponse: end.finalResponse,
    ...(notes.length === 0 ? {} : { notes }),
    exitReason: end.exitReason,
    messages: [...parts.conversation.history],
    // The model that answered last: the configured one, or a fallback in this turn.
    model: run.current.model.runtime.model,
    provider: run.current.model.runtime.provider,
    sessionId: parts.conversation.id,
    ...totals,
    usage: addUsage(totals.usage, ofChildren),
    costUsd: cost.usd,
    costStatus: cost.status,
    durationMs: parts.clock.now() - more.started,
    ...(planPath === undefined ? {} : { planPath }),
    ...(end.partial === undefined ? {} : { partial: end.partial }),
    ...(end.error === undefined ? {} : { error: end.error }),
    ...(pendingSteer === undefined ? {} : { pendingSteer }),
  }
  return { type: "run-end", outcome: end.outcome, result }
}

/** An answer that is not complete must not look like one. */
function partialText({ exitReason, outcome }: TurnEnd): string {
  // At the iteration limit only a lost connection makes the last reply partial.
  return exitReason === "partial_stream_recovery" || outcome === "max-turns"
    ? "The connection was lost before the answer was complete: only this part of it arrived. Ask again, or ask to continue."
    : "The answer is not complete: the model stopped before its end. Ask to continue."
}

/** What changes with the model. */
export interface CurrentModel {
  readonly model: ModelClient
  readonly facts: SessionFacts
  /** Sent to the model with the next message. */
  readonly note: string | undefined
  /** Shown to the user with the next turn. */
  readonly warnings: readonly string[]
}

export interface RunInput extends Omit<TurnRun, "model"> {
  readonly parts: SessionParts
  readonly current: CurrentModel
  /** The input is a notice about a background process. */
  readonly notice: boolean
  /** The input is the goal of a sub-agent, in the words of another model. */
  readonly delegated: boolean
  /** The user typed the input: references and commands in it are carried out. */
  readonly isTyped: boolean
  /** Leaves plan mode as the user has decided. */
  readonly applyApproval: (approval: PlanApproval) => void
}

/** Returns the paragraphs below the answer. Where there is no answer, what facets have to say becomes warnings. */
async function* endNotes(end: TurnEnd, { footers, facets }: SessionParts): Steps<readonly string[]> {
  const { finalResponse, exitReason, totals } = end
  const fromFacets = await facets.turnFooters()
  if (finalResponse === null || end.outcome === "interrupted") {
    for (const text of fromFacets) yield { type: "status", kind: "warning", text }
    return []
  }
  return [
    footers.failedWrites ? mutationFooter({ failedWrites: totals.failedWrites, finalText: finalResponse }) : "",
    footers.explainEnd && end.outcome !== "completed"
      ? completionExplainer({ finalText: finalResponse, exitReason })
      : "",
    ...fromFacets,
  ].filter((line) => line !== "")
}

/** Stores the user's message before the first request is sent, then runs the loop. */
async function* storeAndAnswer(input: UserInput, run: RunInput): Steps<TurnEnd> {
  const { parts, current, signal } = run
  const { conversation, facets } = parts
  const { modelProblem } = current.facts
  if (modelProblem !== undefined)
    return notSent(`Connect or choose a model with /model first. ${asSentence(modelProblem)}`)
  yield* parts.catchUp([])
  const { model } = current
  const expanded = run.isTyped && mayNeedExpansion(contentText(input)) ? yield* expand(input, run) : undefined
  if (signal.aborted && expanded !== undefined) return interruptedEnd(INTERRUPTED_BEFORE_SENDING, createTally())
  if (expanded?.kind === "refused") return notSent(expanded.reason)
  for (const text of expanded?.warnings ?? []) yield { type: "status", kind: "warning", text, quotesInput: true }
  const fromFacets = await facets.beforeTurn({ text: contentText(input), history: conversation.history, model, signal })
  const refusal = facets.refusesTurn()
  if (refusal !== undefined) {
    const message = `the message was not sent: ${refusal}`
    return errorEnd({ exitReason: "hook_refused", code: "hook_refused", message }, createTally())
  }
  const partialNote = partialReplyNote(conversation.history)
  const approval = parts.abilities.plan?.takeApproval(contentText(input))
  const injected = [partialNote, current.note, fromFacets, approval?.injected, expanded?.attached]
    .filter((text) => text !== undefined && text !== "")
    .join("\n\n")
  const message: UserMessage = {
    role: "user",
    content: typeof input === "string" ? messageText(input, run) : input,
    timestamp: epochSeconds(parts.clock),
    ...(run.notice ? { synthetic: "background", provenance: "command" } : {}),
    ...(run.delegated ? { synthetic: "delegation" } : {}),
    ...(injected === "" ? {} : { injected }),
    ...(approval === undefined ? {} : { compression_priority: "high" }),
  }
  await conversation.append([message])
  if (expanded !== undefined && expanded.sent !== contentText(input)) {
    // The transcript keeps what was typed; the model gets what it stands for.
    const sent = { ...message, content: withText(message.content, expanded.sent), typed: contentText(input) }
    await conversation.reshape(new Map([[sent, message]]))
  }
  if (approval !== undefined) {
    // Only now: an interrupt before leaves the session in plan mode.
    run.applyApproval(approval)
    approval.applied()
  }
  model.beginTurn()
  parts.dispatch.guardrails?.beginTurn()
  const turn = buildTurn(parts, { ...run, model })
  parts.turnBudget.current = turn.budget
  return yield* runTurn(turn)
}

async function* expand(input: UserInput, run: RunInput): Steps<ExpandedMessage> {
  const { expandInput } = await import("./expand-input.ts")
  return yield* expandInput(input, run)
}

function notSent(reason: string): TurnEnd {
  return errorEnd(
    { exitReason: NOT_SENT, code: NOT_SENT, message: `The message was not sent. ${reason}` },
    createTally(),
  )
}

function withText(content: UserInput, text: string): UserInput {
  if (typeof content === "string") return scrubSurrogates(text)
  const others = content.filter((part): part is Exclude<Part, { type: "text" }> => part.type !== "text")
  return [{ type: "text", text: scrubSurrogates(text) }, ...others]
}

/** A process must not be able to add a message of the user to its notice. */
function messageText(input: string, { notice }: RunInput): string {
  const text = scrubSurrogates(input)
  return notice ? defuseSteerMarkers(text) : text
}
