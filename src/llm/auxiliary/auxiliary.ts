import { isAbort, orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { auxiliarySettings } from "../../config/auxiliary.ts"
import type { AuxiliarySettings } from "../../config/auxiliary.ts"
import type { Config } from "../../config/load.ts"
import type { Message, ToolCall } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import { NO_USAGE } from "../../protocol/usage.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { ChosenModel, ModelWish } from "../choose-model.ts"
import type { ModelClient, ModelRuntime } from "../model.ts"
import { ask } from "./ask.ts"
import type { Asked, Question } from "./ask.ts"
import { candidatesFor, VISION } from "./candidates.ts"
import type { Candidate } from "./candidates.ts"
import { createClientCache } from "./client-cache.ts"
import type { ClientCache } from "./client-cache.ts"
import { createHealth, MISSING_REST_MS, placeOf } from "./health.ts"
import type { Health } from "./health.ts"

/** Small side jobs (titles, summaries, judgements) that may run on another model than the conversation. */
export interface Auxiliary {
  call(call: AuxiliaryCall): Promise<Result<AuxiliaryAnswer, AuxiliaryFailure>>
  /** Ends the calls under way and closes every connection. */
  close(): void
}

export interface AuxiliaryCall {
  /** A key of `auxiliary.*` in the settings; a task nobody described gets the usual ones. */
  readonly task: string
  readonly system?: string
  readonly messages: readonly Message[]
  /** What the model may call. Nothing is run here: its calls come back in the answer, and whoever asked decides about them. */
  readonly tools?: readonly ToolDefinition[]
  /** Sent only on wires that demand a limit; what the settings say is always sent. */
  readonly maxTokens?: number
  readonly temperature?: number
  /** What the caller wants otherwise than the settings say. */
  readonly override?: Partial<
    Pick<AuxiliarySettings, "provider" | "model" | "baseUrl" | "apiKey" | "apiMode" | "timeoutSeconds">
  >
  readonly signal: AbortSignal
}

export interface AuxiliaryAnswer {
  readonly text: string
  /** Absent where no tools were offered. */
  readonly toolCalls?: readonly ToolCall[]
  readonly usage: Usage
  readonly runtime: ModelRuntime
  /** The model the settings name could not answer and another one did; said once per task. */
  readonly warning?: string
}

export interface AuxiliaryFailure {
  /** `no-provider`: there is no model for the task, so what needs one is not available. */
  readonly kind: "no-provider" | "failed" | "timed-out"
  readonly message: string
}

export interface AuxiliaryOptions {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  /** The model of the conversation, as it is now. */
  readonly main: () => ChosenModel | undefined
  readonly choose: (wish: ModelWish) => Result<ChosenModel, { readonly message: string }>
  /** A client that tries a passing failure once more, and has no fallbacks: those are walked here. */
  readonly open: (chosen: ChosenModel) => Promise<Result<ModelClient>>
  /** Told of every answer, so that the session's cost includes it; without a usage the server did not report one. */
  readonly onUsage?: (task: string, usage: Usage | undefined, runtime: ModelRuntime) => void
}

export function createAuxiliary(options: AuxiliaryOptions): Auxiliary {
  const { config, log } = options
  const clients = createClientCache(options.open)
  const health = createHealth(options.clock)
  const warned = new Set<string>()
  const closing = new AbortController()

  return {
    call: async (call) => {
      const settings = { ...auxiliarySettings(config, call.task), ...call.override }
      if (settings.provider === "none")
        return fail({ kind: "no-provider", message: `${call.task} is switched off in the settings` })
      const limit = startLimit(settings.timeoutSeconds * 1000, options.clock)
      const signal = AbortSignal.any([call.signal, limit.signal, closing.signal])
      try {
        const answered = await walk({ ...options, call, settings, clients, health, warned, signal })
        if (answered.ok) return answered
        if (call.signal.aborted) return fail({ kind: "failed", message: `${call.task} was interrupted` })
        if (limit.signal.aborted) return fail(timedOut(call.task, settings))
        if (answered.error.kind === "failed" && !closing.signal.aborted)
          log.warning(`${call.task}: ${answered.error.message}`)
        return answered
      } finally {
        await limit.stop()
      }
    },
    close: () => {
      closing.abort()
      clients.close()
    },
  }
}

interface Walk extends AuxiliaryOptions {
  readonly call: AuxiliaryCall
  readonly settings: AuxiliarySettings
  readonly clients: ClientCache
  readonly health: Health
  readonly warned: Set<string>
  readonly signal: AbortSignal
}

/** Asks one candidate after the other until one answers. */
async function walk(input: Walk): Promise<Result<AuxiliaryAnswer, AuxiliaryFailure>> {
  const { call, settings } = input
  const main = input.main()
  if (main?.runtime.wire === "in-process") return fail(noProvider(call.task, ["the demo model does no side jobs"]))
  const { candidates, explicit } = await candidatesFor(call.task, settings, { ...input, main })
  const problems: string[] = []
  const unavailable: string[] = []
  const asked = new Set<string>()
  for (const candidate of candidates) {
    const named = explicit && candidate === candidates[0]
    const step = await askCandidate(candidate, { ...input, named, explicit, asked })
    if (step.kind === "aborted") return fail({ kind: "failed", message: `${call.task} was stopped` })
    if (step.kind === "answered") {
      const { text, toolCalls, usage, runtime } = step
      input.onUsage?.(call.task, usage, runtime)
      const instead = explicit && !named ? warningOnce(`${problems[0]}; ${runtime.model} did it`, input) : {}
      const calls = call.tools === undefined ? {} : { toolCalls }
      return ok({ text, ...calls, usage: usage ?? NO_USAGE, runtime, ...instead })
    }
    if (step.kind === "failed") problems.push(step.message)
    else if (step.why !== undefined) unavailable.push(step.why)
    // Another model cannot help with a wrong key or a bad request, and the person chose this one.
    if (named && step.kind === "failed" && !step.capacity) break
  }
  const [cause, ...others] = problems
  if (cause === undefined) return fail(noProvider(call.task, unavailable))
  return fail({ kind: "failed", message: others.length === 0 ? cause : `${cause} (then: ${others.join("; ")})` })
}

interface Step extends Walk {
  /** The settings name this one. */
  readonly named: boolean
  /** The settings name somebody: who rests is asked all the same, because there is no long list to go on with. */
  readonly explicit: boolean
  /** Who was asked in this call already. */
  readonly asked: Set<string>
}

type StepOutcome = Asked | { readonly kind: "skipped"; readonly why?: string }

async function askCandidate(candidate: Candidate, step: Step): Promise<StepOutcome> {
  const { explicit, health, named, signal } = step
  if (signal.aborted) return { kind: "aborted" }
  if (!explicit && health.restingFor(candidate.name) !== undefined) return { kind: "skipped" }
  const chosen = candidate.choose()
  if (!chosen.ok) {
    const why = chosen.error.message
    if (named) return { kind: "failed", message: why, capacity: false }
    health.rest(candidate.name, { forMs: MISSING_REST_MS, why })
    return { kind: "skipped", ...(candidate.configured ? { why } : {}) }
  }
  const { runtime } = chosen.value
  const place = placeOf(runtime)
  const identity = `${place} ${runtime.model}`
  if (runtime.wire === "in-process" || step.asked.has(identity)) return { kind: "skipped" }
  step.asked.add(identity)
  const why = explicit ? undefined : health.restingFor(place)
  if (why !== undefined) return { kind: "skipped", why }
  const question = questionFor(runtime, step)
  const used = await orAborted(
    step.clients.use(chosen.value, (client, refused) => ask(client, { ...question, refused, signal })),
    signal,
  )
  if (used === undefined) return { kind: "aborted" }
  if (!used.ok) return { kind: "failed", message: used.error, capacity: false }
  if (used.value.kind === "failed" && used.value.restMs !== undefined) {
    health.rest(place, { forMs: used.value.restMs, why: used.value.message })
  }
  return used.value
}

function questionFor({ wire }: ModelRuntime, { call, settings }: Walk): Omit<Question, "refused" | "signal"> {
  // Elsewhere a limit only cuts models that think before they speak.
  const limit = settings.maxTokens ?? (wire === "anthropic_messages" ? call.maxTokens : undefined)
  return {
    system: call.system ?? "",
    messages: call.messages,
    tools: call.tools ?? [],
    ...(limit === undefined ? {} : { maxOutputTokens: limit }),
    ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
    thoughtsWillDo: call.task !== VISION,
  }
}

function warningOnce(problem: string, { call, warned, log }: Walk): { readonly warning?: string } {
  if (warned.has(call.task)) return {}
  warned.add(call.task)
  const warning = `the model set for ${call.task} could not be used: ${problem} instead`
  log.warning(warning)
  return { warning }
}

function noProvider(task: string, unavailable: readonly string[]): AuxiliaryFailure {
  const why = unavailable.length === 0 ? "" : ` (${unavailable.join("; ")})`
  return {
    kind: "no-provider",
    message: `no model is available for ${task}${why}; connect one with \`hermes model\` or set \`auxiliary.${task}.provider\``,
  }
}

function timedOut(task: string, { timeoutSeconds }: AuxiliarySettings): AuxiliaryFailure {
  return {
    kind: "timed-out",
    message: `${task} took longer than ${timeoutSeconds} s; give it more with \`hermes config set auxiliary.${task}.timeout N\``,
  }
}

interface Limit {
  readonly signal: AbortSignal
  stop(): Promise<void>
}

/** A signal that aborts when the time is over; `stop` must be called when the work is done. */
function startLimit(ms: number, clock: Clock): Limit {
  const over = new AbortController()
  const done = new AbortController()
  const waiting = clock.sleep(ms, { signal: done.signal }).then(
    () => {
      over.abort()
    },
    (error: unknown) => {
      if (!isAbort(error)) throw error
    },
  )
  return {
    signal: over.signal,
    stop: async () => {
      done.abort()
      await waiting
    },
  }
}
