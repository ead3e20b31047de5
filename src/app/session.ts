import { randomHex } from "../base/random-and-hash.ts"

import type { Clock } from "../base/clock.ts"
import { epochSeconds } from "../base/clock.ts"
import type { Log } from "../base/log.ts"
import { inLogSession } from "../base/log.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { errorMessage } from "../base/system-error.ts"
import { scrubSurrogates } from "../base/text.ts"
import { createActivity } from "../agent/activity.ts"
import type { ActivitySummary } from "../agent/activity.ts"
import type { CompressReport, Compression, CompressionParts, ManualRequest } from "../agent/context/compression.ts"
import type { ContextFigures } from "../agent/context/engine.ts"
import type { Conversation } from "../agent/conversation.ts"
import { Interactions } from "../agent/interactions.ts"
import { IterationBudget } from "../agent/iteration-budget.ts"
import { runTurn } from "../agent/loop.ts"
import type { Spending } from "../agent/spending.ts"
import type { Turn } from "../agent/turn.ts"
import { brokenEnd, createTally } from "../agent/turn-end.ts"
import type { TurnEnd } from "../agent/turn-end.ts"
import { completionExplainer, mutationFooter } from "../agent/turn-footer.ts"
import type { Checkpoints } from "../exec/checkpoints/checkpoints.ts"
import type { ChosenModel } from "../llm/choose-model.ts"
import type { ModelClient, Sampling } from "../llm/model.ts"
import type { AgentEvent, AgentEventBody, Answer, RunResult, UsageEvent } from "../protocol/events.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import { contentText } from "../protocol/message.ts"
import type { Message, UserInput } from "../protocol/message.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { TodoItem } from "../toolkit/ports/todo.ts"
import { logEvent } from "./run-log.ts"
import type { SessionCompanions } from "./session-companions.ts"
import type { SessionLog } from "./session-log.ts"

/** A conversation that can be continued. One run at a time; each run is a stream that ends with exactly one `run-end`. */
export interface Session {
  /** Changes when a compression continues the conversation in a child session. */
  readonly id: SessionId
  run(input: UserInput, options: RunOptions): AsyncGenerator<AgentEvent, void, void>
  /** Simple form: the final text, or "" when there is none. */
  ask(input: UserInput, options: { readonly signal: AbortSignal }): Promise<string>
  /** False when the question is unknown or answered already. */
  answer(requestId: string, answer: Answer): boolean
  /** Ends the running turn. With none running the next one ends at once. */
  interrupt(): void
  /** Adds a note to the running turn; false when there is nothing to add. */
  steer(text: string): boolean
  readonly facts: SessionFacts
  /** The same conversation goes on with another model; on failure nothing changes. */
  switchModel(chosen: ChosenModel): Promise<Result<undefined>>
  /** Makes the conversation shorter now, with a weight on one topic where one is named. */
  compress(request: ManualRequest): Promise<Result<CompressReport>>
  /** Takes the person's last message and all that followed out of the conversation; gives its words, or undefined. */
  undo(): Promise<string | undefined>
  /** The way back to earlier states of the files; undefined where they are not on this machine. */
  checkpoints(): Promise<Checkpoints | undefined>
  readonly context: ContextFigures
  activity(): ActivitySummary
  /** Notices about background processes of this session; whoever takes one runs it as the next input. */
  readonly background: BackgroundNotices
  /** What the person would see of the list that the model keeps for itself. */
  todo(): readonly TodoItem[]
  title(): Promise<string | null>
  close(reason: string): Promise<void>
}

export interface BackgroundNotices {
  take(): string | undefined
  /** Resolves when there is one to take, or when the signal aborts. */
  waitForOne(signal: AbortSignal): Promise<void>
}

export interface RunOptions {
  readonly signal: AbortSignal
  /** The input is a notice about a background process, not the person's words. */
  readonly notice?: boolean
}

export interface SessionFacts {
  readonly model: string
  readonly provider: string
  readonly cwd: string
  readonly permissionProfile: string
  readonly toolsets: readonly string[]
  readonly tools: readonly string[]
  readonly resumed: boolean
  readonly messages: number
  /** Why nothing is kept, when the store could not be opened. */
  readonly unsaved?: string
}

export class SessionBusyError extends Error {
  override readonly name = "SessionBusyError"
}

/** What `openSession` has put together. */
export interface SessionParts {
  readonly clock: Clock
  readonly model: ModelClient
  readonly conversation: Conversation
  readonly tools: readonly ToolDefinition[]
  /** What must survive of this session. */
  readonly log: SessionLog
  readonly compression: Compression
  /** What other processes did to the conversation is taken over before anything is added to it here. */
  readonly catchUp: CompressionParts["catchUp"]
  /** What is worth knowing about it afterwards. */
  readonly diagnostics: Log
  readonly dispatch: Omit<Turn["dispatch"], "signal" | "interactions">
  readonly maxIterations: number
  readonly budgetPressure: boolean
  readonly footers: { readonly failedWrites: boolean; readonly explainEnd: boolean }
  readonly spending: Spending
  readonly sampling: Sampling
  readonly redact: Turn["redact"]
  readonly maskStream: Turn["maskStream"]
  readonly facts: SessionFacts
  /** For the person, said with the first turn. */
  readonly openingWarnings: readonly string[]
  /** For the model, with the first message. */
  readonly openingNote: string | undefined
  readonly todo: () => readonly TodoItem[]
  readonly background: BackgroundNotices
  readonly checkpoints: () => Promise<Checkpoints | undefined>
  /** How many messages are to be kept, when a checkpoint of the conversation was restored in the turn that has ended. */
  readonly takeRewind: () => number | undefined
  /** Memory, titles, reviews: what goes on beside the turns. */
  readonly companions: SessionCompanions
  /** What side calls have used since the last time. */
  readonly takeSideUsage: () => readonly UsageEvent[]
  readonly openModel: (chosen: ChosenModel) => Promise<Result<ModelClient>>
  readonly release: () => Promise<void>
}

export function createSession(parts: SessionParts): Session {
  const { clock, log, conversation, companions } = parts
  const interactions = new Interactions(clock)
  const steering = createSteering()
  const activity = createActivity(clock, parts.maxIterations)
  let running: AbortController | undefined
  let stopNext = false
  let current: Current = {
    model: parts.model,
    facts: parts.facts,
    note: parts.openingNote,
    warnings: parts.openingWarnings,
  }

  async function* run(input: UserInput, options: RunOptions): AsyncGenerator<AgentEvent, void, void> {
    const controller = takeTurn()
    if (stopNext) controller.abort()
    stopNext = false
    const signal = AbortSignal.any([options.signal, controller.signal])
    const envelope = createEnvelope(conversation, clock)
    try {
      const turn = {
        parts,
        current,
        interactions,
        steering,
        signal,
        runId: envelope.runId,
        notice: options.notice === true,
      }
      for await (const body of turnEvents(input, turn)) {
        if (body.type !== "run-start") for (const used of parts.takeSideUsage()) yield envelope.wrap(used)
        const event = envelope.wrap(body)
        activity.see(event)
        // Deltas are the conversation itself, which the store keeps: there are thousands of them, and none is logged.
        if (event.type !== "text-delta" && event.type !== "reasoning-delta") {
          inLogSession({ id: conversation.id }, () => {
            logEvent(parts.diagnostics, event)
          })
        }
        if (event.type === "run-end") companions.afterTurn({ input, end: event, model: current.model })
        yield event
      }
    } finally {
      // A reader that went away ends the run; nothing of it goes on unseen.
      controller.abort()
      const keep = parts.takeRewind()
      if (keep !== undefined) await log.rewind(conversation, keep)
      current = { ...current, note: undefined, warnings: [] }
      running = undefined
    }
  }

  function takeTurn(): AbortController {
    if (running !== undefined)
      throw new SessionBusyError("this session is answering already; wait for it or interrupt it")
    running = new AbortController()
    return running
  }

  return {
    get id() {
      return conversation.id
    },
    get facts() {
      return current.facts
    },
    get context() {
      return parts.compression.figures
    },
    switchModel: async (chosen) => {
      if (running !== undefined) return fail("the model can be changed when the running answer has ended")
      const opened = await parts.openModel(chosen)
      if (!opened.ok) return opened
      const { provider, model } = chosen.runtime
      await log.setModel(model)
      current.model.close()
      current = {
        ...current,
        model: opened.value,
        facts: { ...current.facts, provider, model },
        // The system prompt stays as it is (law 3), so the model learns here who it is now.
        note: `[From here on this conversation is answered by ${model} (${provider}).]`,
      }
      return ok(undefined)
    },
    compress: async (request) => {
      if (running !== undefined) return fail("the conversation can be shortened when the running answer has ended")
      const controller = takeTurn()
      try {
        let told = ""
        for await (const event of parts.catchUp(undefined)) if (event.type === "status") told = event.text
        const signal = AbortSignal.any([request.signal, controller.signal])
        const work = parts.compression.now({ ...request, signal })
        for (;;) {
          const step = await work.next()
          if (step.done === true) return ok(withWarning(step.value, told))
        }
      } catch (error) {
        return fail(`the conversation could not be shortened: ${errorMessage(error)}`)
      } finally {
        running = undefined
      }
    },
    undo: async () => {
      if (running !== undefined) return undefined
      for await (const _told of parts.catchUp(undefined)) continue
      const { history } = conversation
      const place = history.findLastIndex((message) => message.role === "user" && message.synthetic === undefined)
      const message = history[place]
      if (message?.role !== "user") return undefined
      await log.rewind(conversation, place)
      return contentText(message.content)
    },
    checkpoints: parts.checkpoints,
    run,
    ask: async (input, options) => {
      let final = ""
      for await (const event of run(input, options)) {
        if (event.type === "run-end") final = event.result.finalResponse ?? ""
      }
      return final
    },
    answer: (requestId, answer) => interactions.answer(requestId, answer),
    interrupt: () => {
      if (running === undefined) stopNext = true
      else running.abort()
    },
    steer: (text) => steering.add(text),
    activity: () => activity.summary(),
    todo: parts.todo,
    background: parts.background,
    title: () => log.title(),
    close: async (reason) => {
      running?.abort()
      await companions.close(conversation.history)
      await log.end(reason)
      current.model.close()
      await parts.release()
    },
  }
}

function withWarning(report: CompressReport, told: string): CompressReport {
  const warning = [told, report.warning ?? ""].filter((text) => text !== "").join("; ")
  return warning === "" ? report : { ...report, warning }
}

/** What a change of the model replaces. */
interface Current {
  readonly model: ModelClient
  readonly facts: SessionFacts
  /** Told to the model with the next message. */
  readonly note: string | undefined
  /** For the person, with the next turn. */
  readonly warnings: readonly string[]
}

interface RunInput {
  readonly parts: SessionParts
  readonly current: Current
  readonly interactions: Interactions
  readonly steering: ReturnType<typeof createSteering>
  readonly signal: AbortSignal
  readonly runId: string
  readonly notice: boolean
}

/** From `run-start` to `run-end`, whatever happens in between. */
async function* turnEvents(input: UserInput, run: RunInput): AsyncGenerator<AgentEventBody, void, void> {
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
    model: facts.model,
    provider: facts.provider,
    sessionId: parts.conversation.id,
    ...totals,
    durationMs: parts.clock.now() - started,
    ...(end.partial === undefined ? {} : { partial: end.partial }),
    ...(end.error === undefined ? {} : { error: end.error }),
    ...(pendingSteer === undefined ? {} : { pendingSteer }),
  }
  yield { type: "run-end", outcome: end.outcome, result }
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

function createEnvelope(conversation: Conversation, clock: Clock) {
  const runId = randomHex(6)
  let seq = 0
  return {
    runId,
    wrap: (body: AgentEventBody): AgentEvent => {
      const event = { ...body, sessionId: conversation.id, runId, seq, ts: epochSeconds(clock) }
      seq += 1
      return event
    },
  }
}

function createSteering() {
  const notes: string[] = []
  return {
    add: (text: string): boolean => {
      const note = text.trim()
      if (note === "") return false
      notes.push(note)
      return true
    },
    take: (): string | undefined => (notes.length === 0 ? undefined : notes.splice(0).join("\n")),
  }
}
