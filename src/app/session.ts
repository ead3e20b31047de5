import type { Clock } from "../base/clock.ts"
import { epochSeconds } from "../base/clock.ts"
import { inLogSession } from "../base/logger.ts"
import { randomHex } from "../base/random-and-hash.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { errorMessage } from "../base/system-error.ts"
import { createActivity } from "../agent/activity.ts"
import type { ActivitySummary } from "../agent/activity.ts"
import type { CompressReport, ManualRequest } from "../agent/context/compression.ts"
import type { ContextFigures } from "../agent/context/engine.ts"
import type { Conversation } from "../agent/conversation.ts"
import { Interactions } from "../agent/interactions.ts"
import { createSteering } from "../agent/steering.ts"
import type { Checkpoints } from "../exec/checkpoints/checkpoints.ts"
import type { ChosenModel } from "../llm/choose-model.ts"
import type { RateLimits } from "../llm/failure/rate-limit-headers.ts"
import type { AgentEvent, AgentEventBody, Answer } from "../protocol/events.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import { contentText } from "../protocol/message.ts"
import type { UserInput } from "../protocol/message.ts"
import type { TodoItem } from "../toolkit/ports/todo.ts"
import { logEvent } from "./run-log.ts"
import type { BackgroundNotices, SessionFacts, SessionParts } from "./session-parts.ts"
import { turnEvents } from "./session-turn.ts"
import type { Current } from "./session-turn.ts"

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
  /** What the provider last said about its limits; empty where it says nothing. */
  readonly rateLimits: RateLimits
  activity(): ActivitySummary
  /** Notices about background processes of this session; whoever takes one runs it as the next input. */
  readonly background: BackgroundNotices
  /** What the person would see of the list that the model keeps for itself. */
  todo(): readonly TodoItem[]
  title(): Promise<string | null>
  close(reason: string): Promise<void>
}

export interface RunOptions {
  readonly signal: AbortSignal
  /** The input is a notice about a background process, not the person's words. */
  readonly notice?: boolean
}

export class SessionBusyError extends Error {
  override readonly name = "SessionBusyError"
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
    get rateLimits() {
      return current.model.rateLimits ?? {}
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
        return ok(await shorten(parts, { ...request, signal: AbortSignal.any([request.signal, controller.signal]) }))
      } catch (error) {
        return fail(`the conversation could not be shortened: ${errorMessage(error)}`)
      } finally {
        running = undefined
      }
    },
    undo: async () => (running === undefined ? await takeBack(parts) : undefined),
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

async function shorten(parts: SessionParts, request: ManualRequest): Promise<CompressReport> {
  let told = ""
  for await (const event of parts.catchUp(undefined)) if (event.type === "status") told = event.text
  const work = parts.compression.now(request)
  for (;;) {
    const step = await work.next()
    if (step.done === true) return withWarning(step.value, told)
  }
}

function withWarning(report: CompressReport, told: string): CompressReport {
  const warning = [told, report.warning ?? ""].filter((text) => text !== "").join("; ")
  return warning === "" ? report : { ...report, warning }
}

/** The words that were taken back; undefined when the person has said nothing yet. */
async function takeBack({ catchUp, conversation, log }: SessionParts): Promise<string | undefined> {
  for await (const _told of catchUp(undefined)) continue
  const { history } = conversation
  const place = history.findLastIndex((message) => message.role === "user" && message.synthetic === undefined)
  const message = history[place]
  if (message?.role !== "user") return undefined
  await log.rewind(conversation, place)
  return contentText(message.content)
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
