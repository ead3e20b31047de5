import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import { inLogSession } from "../../base/logger.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { createActivity } from "../../agent/activity.ts"
import type { ActivitySummary } from "../../agent/activity.ts"
import type { CompressReport, ManualCompression } from "../../agent/context/compression.ts"
import type { ContextFigures } from "../../agent/context/context-engine.ts"
import type { Conversation } from "../../agent/conversation.ts"
import { Interactions } from "../../agent/interactions.ts"
import type { Permissions } from "../../agent/permissions.ts"
import { createSteering } from "../../agent/steering.ts"
import type { Checkpoints } from "../../exec/checkpoints/checkpoints.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { Effort } from "../../llm/model.ts"
import type { PermissionProfile } from "../../policy/permission-profile.ts"
import type { RateLimits } from "../../llm/failure/rate-limit-headers.ts"
import type { AgentEvent, AgentEventBody, Answer } from "../../protocol/events.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { UserInput } from "../../protocol/message.ts"
import type { TitleOutcome } from "../../state/store.ts"
import type { TodoItem } from "../../toolkit/ports/todo.ts"
import { personalityNote } from "../services/personalities.ts"
import type { Personality } from "../services/personalities.ts"
import type { PlanApproval, PlanMode } from "./plan-mode.ts"
import { logEvent } from "./run-log.ts"
import type { StartTask } from "./facet-context.ts"
import type { BackgroundNotices, SessionFacts, SessionParts } from "./session-parts.ts"
import { commandEvents, runEvents } from "./session-run.ts"
import type { CurrentModel } from "./session-run.ts"
import { createToolPreparation } from "./tool-preparation.ts"
import type { SkillCommands } from "./skill-commands.ts"
import type { McpControl } from "./mcp-control.ts"
import type { RollbackReport, RollbackRequest } from "./rollback.ts"
import type { UserNotes } from "./user-notes.ts"
import type { UndoReport } from "./undo.ts"

/** A conversation that can be continued. One run at a time; each run is a stream that ends with exactly one `run-end`. */
export interface Session {
  /** Changes when a compression continues the conversation in a child session. */
  readonly id: SessionId
  run(input: UserInput, options: RunOptions): AsyncGenerator<AgentEvent, void, void>
  /** Runs a command of the user under the rules of the session. Its output is the final text; the model does not see it. */
  runCommand(command: string, options: Pick<RunOptions, "signal">): AsyncGenerator<AgentEvent, void, void>
  /** Runs to the end and returns the final text, or "". */
  ask(input: UserInput, options: { readonly signal: AbortSignal }): Promise<string>
  /** Answers a question of this session or of a background task. Returns false when it is unknown or already answered. */
  answer(requestId: string, answer: Answer): boolean
  /** Ends the running turn; if none is running, the next one ends at once. */
  interrupt(): void
  /** Adds a note to the running turn. Returns false for an empty note. */
  steer(text: string): boolean
  readonly facts: SessionFacts
  /** The conversation has messages and can be resumed. */
  readonly isStored: boolean
  /** With its endpoint and key. */
  readonly chosenModel: ChosenModel
  /** Continues the conversation with another model; on failure nothing changes. */
  switchModel(chosen: ChosenModel): Promise<Result<undefined>>
  /** Applies from the next message on. Undefined: as in the settings. */
  setReasoningEffort(effort: Effort | undefined): void
  readonly reasoningEffort: Effort | undefined
  /** The model is given the personality with the next message. */
  setPersonality(personality: Personality | undefined): void
  /** Applies from the next tool call on, also within a running turn. */
  setPermissionProfile(profile: PermissionProfile): void
  /** The rules of this session. They end with it. */
  readonly permissions: SessionPermissions
  /** The plan that a run in plan mode has produced. */
  readonly plan: PlanControl
  /** Compresses the conversation now, optionally with a focus topic. */
  compress(request: ManualCompression): Promise<Result<CompressReport>>
  /** Removes the last user message and everything after it. Not while a turn is running. */
  undo(): Promise<UndoReport>
  /** Restores files from a snapshot, and for the whole project the conversation to the same point. Not while a turn is running. */
  rollBack(request: RollbackRequest): Promise<Result<RollbackReport>>
  /** Earlier states of the files; undefined for workspaces on other machines. */
  checkpoints(): Promise<Checkpoints | undefined>
  readonly context: ContextFigures
  /** The rate limits that the provider last reported; empty if it reports none. */
  readonly rateLimits: RateLimits
  /** Sentences for the user about the opening, for a surface that shows them before the first run. Otherwise that emits them. */
  takeOpeningWarnings(): readonly string[]
  activity(): ActivitySummary
  readonly background: BackgroundNotices
  /** Skills as slash commands; absent where the session has none. */
  readonly skills?: SkillCommands
  /** Absent where the session has no MCP servers. */
  readonly mcp?: McpControl
  /** What happened between turns, for the user; absent where nothing can. */
  readonly userNotes?: UserNotes
  /** Absent where the surface cannot show the results of background tasks. */
  readonly startTask?: StartTask
  /** The task list that the model keeps for itself. */
  todo(): readonly TodoItem[]
  title(): Promise<string | null>
  /** Before the first message, the title is kept for it. */
  setTitle(title: string): Promise<TitleOutcome>
  close(reason: string): Promise<void>
}

export interface RunOptions {
  readonly signal: AbortSignal
  /** The input is a notice about a background process, not a user message. */
  readonly notice?: boolean
  /** The input is the goal of a sub-agent, not a user message. */
  readonly delegated?: boolean
  /** The user typed the input: `@` references, `{!commands}` and tokens of pasted texts in it are carried out. */
  readonly typed?: boolean
}

/** What one run does. */
type RunWork =
  | { readonly kind: "message"; readonly input: UserInput }
  | { readonly kind: "command"; readonly command: string }

export type SessionPermissions = Pick<
  Permissions,
  "rules" | "profiles" | "askingProfile" | "grants" | "addRule" | "reset"
>

export type PlanControl = Pick<PlanMode, "show" | "approve" | "abort">

export class SessionBusyError extends Error {
  override readonly name = "SessionBusyError"
}

export function createSession(parts: SessionParts): Session {
  const { clock, conversation, journal, facets } = parts
  const interactions = new Interactions(clock)
  const steering = createSteering()
  const activity = createActivity(clock, parts.maxIterations)
  const toolPreparation = createToolPreparation({ dispatch: parts.dispatch, facets, log: parts.log })
  let running: AbortController | undefined
  let stopNext = false
  let effort: Effort | undefined
  /** Events from outside the turn, emitted before its next event. */
  const pending: AgentEventBody[] = []
  let current: CurrentModel = {
    model: parts.model,
    facts: parts.facts,
    note: parts.openingNote,
    warnings: parts.openingWarnings,
  }

  const run = (input: UserInput, options: RunOptions): AsyncGenerator<AgentEvent, void, void> =>
    emitRun({ kind: "message", input }, options)

  async function* emitRun(work: RunWork, options: RunOptions): AsyncGenerator<AgentEvent, void, void> {
    const controller = beginRun()
    if (stopNext) controller.abort()
    stopNext = false
    const signal = AbortSignal.any([options.signal, controller.signal])
    const envelope = createEnvelope(conversation, clock)
    try {
      const turn = {
        parts: effort === undefined ? parts : { ...parts, sampling: { ...parts.sampling, effort } },
        current,
        interactions,
        steering,
        signal,
        runId: envelope.runId,
        notice: options.notice === true,
        delegated: options.delegated === true,
        isTyped: options.typed === true,
        applyApproval: ({ profile, askAbout }: PlanApproval) => {
          for (const pattern of askAbout) parts.dispatch.permissions.addRule("ask", pattern)
          changeProfile(profile, "plan")
        },
      }
      const bodies = work.kind === "message" ? runEvents(work.input, turn) : commandEvents(work.command, turn)
      for await (const body of bodies) {
        if (body.type !== "run-start") {
          for (const between of takePending()) {
            const event = envelope.wrap(between)
            facets.eventEmitted(event)
            yield event
          }
        }
        const event = envelope.wrap(body)
        activity.observe(event)
        // Deltas are not logged: there are thousands of them, and the store keeps their text.
        if (event.type !== "text-delta" && event.type !== "reasoning-delta") {
          facets.eventEmitted(event)
          inLogSession({ id: conversation.id }, () => {
            logEvent(parts.log, event)
          })
        }
        if (event.type === "status" && event.kind === "iteration") toolPreparation.awaitReply(signal)
        if (event.type === "tool-start") toolPreparation.pause()
        if (event.type === "run-end" && work.kind === "message")
          facets.afterTurn({ input: work.input, end: event, model: current.model })
        yield event
      }
    } finally {
      // A reader that stops reading ends the run.
      controller.abort()
      await facets.runEnded()
      if (work.kind === "message") current = { ...current, note: undefined, warnings: [] }
      running = undefined
    }
  }

  function takePending(): readonly AgentEventBody[] {
    return [
      ...pending.splice(0),
      ...parts.takeAuxiliaryUsage(),
      ...parts.takeNotices().map((text): AgentEventBody => ({ type: "status", kind: "warning", text })),
    ]
  }

  function changeProfile(profile: PermissionProfile, by: string): void {
    const { permissions } = parts.dispatch
    const old = permissions.profile
    if (old === profile || !permissions.setProfile(profile)) return
    noteProfile(old, profile, by)
  }

  function noteProfile(old: PermissionProfile, profile: PermissionProfile, by: string): void {
    current = { ...current, facts: { ...current.facts, permissionProfile: profile } }
    const text = `permission profile: ${profile}`
    pending.push({ type: "status", kind: "permission-profile", text, old, new: profile, by })
  }

  function beginRun(): AbortController {
    if (running !== undefined)
      throw new SessionBusyError("this session is already running; wait for it or interrupt it")
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
    get isStored() {
      return current.facts.unsaved === undefined && conversation.history.length > 0 && !journal.isDeleted()
    },
    get context() {
      return parts.compression.figures
    },
    get rateLimits() {
      return current.model.rateLimits ?? {}
    },
    get chosenModel() {
      return parts.chosenModel()
    },
    switchModel: async (chosen) => {
      if (running !== undefined) return fail("wait until the current reply has finished before you change the model")
      const opened = await parts.openModel(chosen)
      if (!opened.ok) return opened
      const { provider, model } = chosen.runtime
      await journal.setModel(model)
      current.model.close()
      parts.compression.modelSwitched(chosen.runtime)
      const { modelProblem: _solved, ...facts } = current.facts
      current = {
        ...current,
        model: opened.value,
        facts: { ...facts, provider, model },
        // The system prompt never changes, so this note names the new model.
        note: `[From here on, this conversation is answered by ${model} (${provider}).]`,
      }
      return ok(undefined)
    },
    get reasoningEffort() {
      return effort ?? parts.sampling.effort
    },
    setReasoningEffort: (chosen) => {
      effort = chosen
    },
    setPersonality: (personality) => {
      const { personality: former, ...facts } = current.facts
      if (personality?.name === former) return
      current = {
        ...current,
        facts: { ...facts, ...(personality === undefined ? {} : { personality: personality.name }) },
        note: [current.note, personalityNote(personality)].filter((note) => note !== undefined).join("\n\n"),
      }
    },
    setPermissionProfile: (profile) => {
      changeProfile(profile, "user")
    },
    get permissions() {
      const { permissions } = parts.dispatch
      return {
        ...permissions,
        grants: permissions.grants,
        reset: () => {
          const old = permissions.profile
          permissions.reset()
          if (permissions.profile !== old) noteProfile(old, permissions.profile, "user")
        },
      }
    },
    plan: {
      show: async () => await parts.abilities.plan?.show(),
      approve: async (how) => (await parts.abilities.plan?.approve(how)) ?? fail("none"),
      abort: async () => {
        const profile = await parts.abilities.plan?.abort()
        if (profile !== undefined) changeProfile(profile, "user")
        return parts.dispatch.permissions.profile
      },
    },
    compress: async (request) => {
      if (running !== undefined)
        return fail("wait until the current reply has finished before you compress the conversation")
      const controller = beginRun()
      try {
        return ok(
          await compressNow(parts, { ...request, signal: AbortSignal.any([request.signal, controller.signal]) }),
        )
      } catch (error) {
        return fail(`the conversation could not be compressed: ${errorMessage(error)}`)
      } finally {
        running = undefined
      }
    },
    undo: async () => {
      if (running !== undefined) return { kind: "nothing" }
      const { undoLastTurn } = await import("./undo.ts")
      return await undoLastTurn(parts)
    },
    rollBack: async (request) => {
      if (running !== undefined) return fail("wait until the current reply has finished before you restore files")
      const { rollBack } = await import("./rollback.ts")
      const report = await rollBack(request, parts)
      if (report.ok && report.value.note !== undefined) {
        const notes = [current.note, report.value.note].filter((note) => note !== undefined)
        current = { ...current, note: notes.join("\n\n") }
      }
      return report
    },
    checkpoints: async () => await parts.abilities.checkpoints?.(),
    run,
    runCommand: (command, options) => emitRun({ kind: "command", command }, options),
    ask: async (input, options) => {
      let final = ""
      for await (const event of run(input, options)) {
        if (event.type === "run-end") final = event.result.finalResponse ?? ""
      }
      return final
    },
    answer: (requestId, answer) => interactions.answer(requestId, answer) || parts.answerTask(requestId, answer),
    interrupt: () => {
      if (running === undefined) stopNext = true
      else running.abort()
    },
    steer: (text) => steering.add(text),
    takeOpeningWarnings: () => {
      const { warnings } = current
      if (warnings.length === 0) return []
      current = { ...current, warnings: [] }
      parts.openingWarningsShown()
      return warnings
    },
    activity: () => activity.summary(),
    ...(parts.abilities.skills === undefined ? {} : { skills: parts.abilities.skills }),
    ...(parts.abilities.mcp === undefined ? {} : { mcp: parts.abilities.mcp }),
    ...(parts.abilities.userNotes === undefined ? {} : { userNotes: parts.abilities.userNotes }),
    ...(parts.abilities.startTask === undefined ? {} : { startTask: parts.abilities.startTask }),
    todo: parts.todo,
    background: parts.background,
    title: () => journal.title(),
    setTitle: (title) => journal.setTitle(title),
    close: async (reason) => {
      running?.abort()
      await facets.close(reason)
      await journal.end(reason)
      facets.closed()
      current.model.close()
      await parts.release()
    },
  }
}

async function compressNow(parts: SessionParts, request: ManualCompression): Promise<CompressReport> {
  let notice = ""
  for await (const event of parts.catchUp([])) if (event.type === "status") notice = event.text
  const work = parts.compression.compressNow(request)
  for (;;) {
    const step = await work.next()
    if (step.done === true) return withWarning(step.value, notice)
  }
}

function withWarning(report: CompressReport, notice: string): CompressReport {
  const warning = [notice, report.warning ?? ""].filter((text) => text !== "").join("; ")
  return warning === "" ? report : { ...report, warning }
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
