import { randomHex } from "../base/random-and-hash.ts"

import type { Clock } from "../base/clock.ts"
import { epochSeconds } from "../base/clock.ts"
import type { Log } from "../base/log.ts"
import { inLogSession } from "../base/log.ts"
import { orAborted } from "../base/abort.ts"
import { errorMessage } from "../base/system-error.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { scrubSurrogates } from "../base/text.ts"
import { Interactions } from "../agent/interactions.ts"
import { IterationBudget } from "../agent/iteration-budget.ts"
import { brokenEnd, runTurn } from "../agent/loop.ts"
import type { Turn, TurnEnd } from "../agent/loop.ts"
import type { Spending } from "../agent/spending.ts"
import type { ChosenModel } from "../llm/choose-model.ts"
import type { ModelClient, Sampling } from "../llm/model.ts"
import type { AgentEvent, AgentEventBody, Answer, RunResult } from "../protocol/events.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import { contentText } from "../protocol/message.ts"
import type { Message, UserInput } from "../protocol/message.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import { NO_USAGE } from "../protocol/usage.ts"
import { logEvent } from "./run-log.ts"
import type { SessionLog } from "./session-log.ts"
import type { Exchange } from "./session-title.ts"

/** A conversation that can be continued. One run at a time; each run is a stream that ends with exactly one `run-end`. */
export interface Session {
  readonly id: SessionId
  run(input: UserInput, options: { readonly signal: AbortSignal }): AsyncGenerator<AgentEvent, void, void>
  /** Simple form: the final text, or "" when there is none. */
  ask(input: UserInput, options: { readonly signal: AbortSignal }): Promise<string>
  /** False when the question is unknown or answered already. */
  answer(requestId: string, answer: Answer): boolean
  interrupt(): void
  /** Adds a note to the running turn; false when there is nothing to add. */
  steer(text: string): boolean
  readonly facts: SessionFacts
  /** The same conversation goes on with another model; on failure nothing changes. */
  switchModel(chosen: ChosenModel): Promise<Result<undefined>>
  title(): Promise<string | null>
  close(reason: string): Promise<void>
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
  readonly id: SessionId
  readonly clock: Clock
  readonly model: ModelClient
  readonly system: string
  readonly tools: readonly ToolDefinition[]
  readonly history: Message[]
  /** What must survive of this session. */
  readonly log: SessionLog
  /** What is worth knowing about it afterwards. */
  readonly diagnostics: Log
  readonly dispatch: Omit<Turn["dispatch"], "signal" | "interactions">
  readonly maxIterations: number
  readonly spending: Spending
  readonly sampling: Sampling
  readonly redact: Turn["redact"]
  readonly facts: SessionFacts
  /** Makes a title from the first exchange; absent where nobody will look at it. */
  readonly makeTitle?: (exchange: Exchange, signal: AbortSignal) => Promise<string | undefined>
  readonly openModel: (chosen: ChosenModel) => Promise<Result<ModelClient>>
  readonly release: () => Promise<void>
}

export function createSession(parts: SessionParts): Session {
  const { clock, log } = parts
  const interactions = new Interactions(clock)
  const steering = createSteering()
  let running: AbortController | undefined
  const titling = createTitling(parts)
  let current: Current = { model: parts.model, facts: parts.facts, note: undefined }

  async function* run(
    input: UserInput,
    options: { readonly signal: AbortSignal },
  ): AsyncGenerator<AgentEvent, void, void> {
    if (running !== undefined)
      throw new SessionBusyError("this session is answering already; wait for it or interrupt it")
    const controller = new AbortController()
    running = controller
    const signal = AbortSignal.any([options.signal, controller.signal])
    const envelope = createEnvelope(parts.id, clock)
    try {
      for await (const body of turnEvents(input, {
        parts,
        current,
        interactions,
        steering,
        signal,
        runId: envelope.runId,
      })) {
        const event = envelope.wrap(body)
        inLogSession({ id: parts.id }, () => {
          logEvent(parts.diagnostics, event)
        })
        if (event.type === "run-end") titling.start(input, event.result.finalResponse)
        yield event
      }
    } finally {
      // A reader that went away ends the run; nothing of it goes on unseen.
      controller.abort()
      current = { ...current, note: undefined }
      running = undefined
    }
  }

  return {
    id: parts.id,
    get facts() {
      return current.facts
    },
    switchModel: async (chosen) => {
      if (running !== undefined) return fail("the model can be changed when the running answer has ended")
      const opened = await parts.openModel(chosen)
      if (!opened.ok) return opened
      const { provider, model } = chosen.runtime
      await log.setModel(model)
      current.model.close()
      current = {
        model: opened.value,
        facts: { ...current.facts, provider, model },
        // The system prompt stays as it is (law 3), so the model learns here who it is now.
        note: `[From here on this conversation is answered by ${model} (${provider}).]`,
      }
      return ok(undefined)
    },
    run,
    ask: async (input, options) => {
      let final = ""
      for await (const event of run(input, options)) {
        if (event.type === "run-end") final = event.result.finalResponse ?? ""
      }
      return final
    },
    answer: (requestId, answer) => interactions.answer(requestId, answer),
    interrupt: () => running?.abort(),
    steer: (text) => steering.add(text),
    title: () => log.title(),
    close: async (reason) => {
      running?.abort()
      await titling.finish()
      await log.end(reason)
      current.model.close()
      await parts.release()
    },
  }
}

/** How long leaving waits for a title that is being made. */
const TITLE_PATIENCE_MS = 1500

/** Names the conversation after its first exchange, beside the next turn; leaving waits for it, but not long. */
function createTitling(parts: SessionParts) {
  const stop = new AbortController()
  let making: Promise<void> | undefined
  return {
    start: (input: UserInput, answer: string | null): void => {
      const { makeTitle } = parts
      if (makeTitle === undefined || making !== undefined || parts.facts.resumed || answer === null) return
      const user = contentText(input)
      making = makeTitle({ user, assistant: answer }, stop.signal)
        .then((title) => (title === undefined ? undefined : parts.log.retitle(title)))
        .catch((error: unknown) => {
          parts.diagnostics.warning(`no title could be made: ${errorMessage(error)}`)
        })
    },
    finish: async (): Promise<void> => {
      if (making === undefined) return
      const patience = AbortSignal.timeout(TITLE_PATIENCE_MS)
      await orAborted(making, patience)
      stop.abort()
    },
  }
}

/** What a change of the model replaces. */
interface Current {
  readonly model: ModelClient
  readonly facts: SessionFacts
  /** Told to the model with the next message. */
  readonly note: string | undefined
}

interface RunInput {
  readonly parts: SessionParts
  readonly current: Current
  readonly interactions: Interactions
  readonly steering: ReturnType<typeof createSteering>
  readonly signal: AbortSignal
  readonly runId: string
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
  let end: TurnEnd
  try {
    end = yield* storeAndAnswer(input, run)
  } catch (error) {
    end = brokenEnd(error, {
      apiCalls: 0,
      toolCalls: 0,
      usage: NO_USAGE,
      filesChanged: [],
      costUsd: 0,
      costStatus: "included",
    })
  }
  const leftover = run.steering.take()
  const pendingSteer = end.outcome === "interrupted" ? undefined : leftover
  const result: RunResult = {
    finalResponse: end.finalResponse,
    exitReason: end.exitReason,
    messages: [...parts.history],
    model: facts.model,
    provider: facts.provider,
    sessionId: parts.id,
    ...end.totals,
    durationMs: parts.clock.now() - started,
    ...(end.error === undefined ? {} : { error: end.error }),
    ...(pendingSteer === undefined ? {} : { pendingSteer }),
  }
  yield { type: "run-end", outcome: end.outcome, result }
}

/** The person's words are durable before the first request leaves (law 2). */
async function* storeAndAnswer(input: UserInput, run: RunInput): AsyncGenerator<AgentEventBody, TurnEnd, void> {
  const { parts, current, signal } = run
  const message: Message = {
    role: "user",
    content: typeof input === "string" ? scrubSurrogates(input) : input,
    timestamp: epochSeconds(parts.clock),
    ...(current.note === undefined ? {} : { injected: current.note }),
  }
  await parts.log.append([message])
  parts.history.push(message)
  current.model.beginTurn()
  return yield* runTurn({
    runId: run.runId,
    model: current.model,
    system: parts.system,
    tools: parts.tools,
    history: parts.history,
    journal: parts.log,
    dispatch: { ...parts.dispatch, signal, interactions: run.interactions },
    budget: new IterationBudget(parts.maxIterations),
    steering: run.steering,
    spending: parts.spending,
    sampling: parts.sampling,
    signal,
    redact: parts.redact,
  })
}

function createEnvelope(sessionId: SessionId, clock: Clock) {
  const runId = randomHex(6)
  let seq = 0
  return {
    runId,
    wrap: (body: AgentEventBody): AgentEvent => {
      const event = { ...body, sessionId, runId, seq, ts: epochSeconds(clock) }
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
