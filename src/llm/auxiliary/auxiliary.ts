import { isAbort, orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { auxiliarySettings } from "../../config/auxiliary-settings.ts"
import type { AuxiliarySettings } from "../../config/auxiliary-settings.ts"
import type { Config } from "../../config/load-config.ts"
import type { Message, ToolCall } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import { NO_USAGE } from "../../protocol/usage.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { ChosenModel, ModelSelection } from "../choose-model.ts"
import type { ModelClient, ModelRuntime } from "../model.ts"
import { sendAuxiliaryRequest } from "./send-request.ts"
import type { AuxiliaryOutcome, AuxiliaryRequest } from "./send-request.ts"
import { candidatesFor, VISION } from "./candidates.ts"
import type { Candidate } from "./candidates.ts"
import { createClientCache } from "./client-cache.ts"
import type { ClientCache } from "./client-cache.ts"
import { createCooldowns, NO_CREDENTIAL_COOLDOWN_MS, endpointKey } from "./cooldowns.ts"
import type { Cooldowns } from "./cooldowns.ts"

/** Runs auxiliary tasks (titles, summaries, classification), possibly on a different model from the conversation's. */
export interface Auxiliary {
  call(call: AuxiliaryCall): Promise<Result<AuxiliaryReply, AuxiliaryFailure>>
  /** Aborts running calls and closes every connection. */
  close(): void
}

export interface AuxiliaryCall {
  /** A key of `auxiliary.*` in the settings; a task without settings gets the defaults. */
  readonly task: string
  readonly system?: string
  readonly messages: readonly Message[]
  /** Tools the model may call. They are not run here: the calls are returned in `toolCalls`. */
  readonly tools?: readonly ToolDefinition[]
  /** Sent only on wires that require a limit; a limit from the settings is always sent. */
  readonly maxTokens?: number
  readonly temperature?: number
  /** A model that is known to be unable to do the task. */
  readonly exclude?: ModelRuntime
  /** Overrides the settings of the task. */
  readonly override?: Partial<
    Pick<AuxiliarySettings, "provider" | "model" | "baseUrl" | "apiKey" | "apiMode" | "timeoutSeconds">
  >
  readonly signal: AbortSignal
}

export interface AuxiliaryReply {
  readonly text: string
  /** Absent when no tools were offered. */
  readonly toolCalls?: readonly ToolCall[]
  readonly usage: Usage
  readonly runtime: ModelRuntime
  /** Another model replied because the configured one could not; set once per task. */
  readonly warning?: string
}

export interface AuxiliaryFailure {
  /** `no-provider`: no model is available for the task, so features that need it are off. */
  readonly kind: "no-provider" | "failed" | "timed-out"
  readonly message: string
}

export interface AuxiliaryOptions {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  /** The current model of the conversation. */
  readonly main: () => ChosenModel | undefined
  readonly choose: (selection: ModelSelection) => Result<ChosenModel, { readonly message: string }>
  /** Opens a client that retries a temporary failure once and has no fallbacks; fallbacks are tried here. */
  readonly open: (chosen: ChosenModel) => Promise<Result<ModelClient>>
  /** Called for every reply, so that the session's cost includes it; `usage` is undefined when the server reported none. */
  readonly onUsage?: (task: string, usage: Usage | undefined, runtime: ModelRuntime) => void
}

export function createAuxiliary(options: AuxiliaryOptions): Auxiliary {
  const { config, log } = options
  const clients = createClientCache(options.open)
  const cooldowns = createCooldowns(options.clock)
  const warned = new Set<string>()
  const closing = new AbortController()

  return {
    call: async (call) => {
      const settings = { ...auxiliarySettings(config, call.task), ...call.override }
      if (settings.provider === "none")
        return fail({ kind: "no-provider", message: `${call.task} is disabled in the settings` })
      const timeout = startTimeout(settings.timeoutSeconds * 1000, options.clock)
      const signal = AbortSignal.any([call.signal, timeout.signal, closing.signal])
      try {
        const result = await tryCandidates({ ...options, call, settings, clients, cooldowns, warned, signal })
        if (result.ok) return result
        if (call.signal.aborted) return fail({ kind: "failed", message: `${call.task} was interrupted` })
        if (timeout.signal.aborted) return fail(timedOut(call.task, settings))
        if (result.error.kind === "failed" && !closing.signal.aborted)
          log.warning(`${call.task}: ${result.error.message}`)
        return result
      } finally {
        await timeout.stop()
      }
    },
    close: () => {
      closing.abort()
      clients.close()
    },
  }
}

interface TaskContext extends AuxiliaryOptions {
  readonly call: AuxiliaryCall
  readonly settings: AuxiliarySettings
  readonly clients: ClientCache
  readonly cooldowns: Cooldowns
  readonly warned: Set<string>
  readonly signal: AbortSignal
}

/** Tries one candidate after the other until one replies. */
async function tryCandidates(input: TaskContext): Promise<Result<AuxiliaryReply, AuxiliaryFailure>> {
  const { call, settings } = input
  const main = input.main()
  if (main?.runtime.wire === "in-process")
    return fail(noProvider(call.task, ["the demo model does not run auxiliary tasks"]))
  const { candidates, explicit } = await candidatesFor(call.task, settings, { ...input, main })
  const problems: string[] = []
  const unavailable: string[] = []
  const tried = new Set(call.exclude === undefined ? [] : [modelKey(call.exclude)])
  for (const candidate of candidates) {
    const named = explicit && candidate === candidates[0]
    const outcome = await tryCandidate(candidate, { ...input, named, explicit, tried })
    if (outcome.kind === "aborted") return fail({ kind: "failed", message: `${call.task} was stopped` })
    if (outcome.kind === "reply") {
      const { text, toolCalls, usage, runtime } = outcome
      input.onUsage?.(call.task, usage, runtime)
      const instead = explicit && !named ? warningOnce(`${problems[0]}; used ${runtime.model}`, input) : {}
      const calls = call.tools === undefined ? {} : { toolCalls }
      return ok({ text, ...calls, usage: usage ?? NO_USAGE, runtime, ...instead })
    }
    if (outcome.kind === "failed") problems.push(outcome.message)
    else if (outcome.reason !== undefined) unavailable.push(outcome.reason)
    // The user chose this model and its problem is permanent (wrong key, bad request), so do not replace it silently.
    if (named && outcome.kind === "failed" && !outcome.capacity) break
  }
  const [cause, ...others] = problems
  if (cause === undefined) return fail(noProvider(call.task, unavailable))
  return fail({ kind: "failed", message: others.length === 0 ? cause : `${cause} (then: ${others.join("; ")})` })
}

interface CandidateContext extends TaskContext {
  /** The settings name this candidate. */
  readonly named: boolean
  /** The settings name a model. Cooldowns are then ignored, because there are few other candidates. */
  readonly explicit: boolean
  /** Models that were already tried in this call, or excluded from it. */
  readonly tried: Set<string>
}

type CandidateOutcome = AuxiliaryOutcome | { readonly kind: "skipped"; readonly reason?: string }

async function tryCandidate(candidate: Candidate, context: CandidateContext): Promise<CandidateOutcome> {
  const { explicit, cooldowns, named, signal } = context
  if (signal.aborted) return { kind: "aborted" }
  if (!explicit && cooldowns.reasonFor(candidate.name) !== undefined) return { kind: "skipped" }
  const chosen = candidate.choose()
  if (!chosen.ok) {
    const reason = chosen.error.message
    if (named) return { kind: "failed", message: reason, capacity: false }
    cooldowns.start(candidate.name, { ms: NO_CREDENTIAL_COOLDOWN_MS, reason })
    return { kind: "skipped", ...(candidate.configured ? { reason } : {}) }
  }
  const { runtime } = chosen.value
  const endpoint = endpointKey(runtime)
  const identity = modelKey(runtime)
  if (runtime.wire === "in-process" || context.tried.has(identity)) return { kind: "skipped" }
  context.tried.add(identity)
  const reason = explicit ? undefined : cooldowns.reasonFor(endpoint)
  if (reason !== undefined) return { kind: "skipped", reason }
  const request = auxiliaryRequest(runtime, context)
  const used = await orAborted(
    context.clients.use(chosen.value, (client, rejectedParameters) =>
      sendAuxiliaryRequest(client, { ...request, rejectedParameters, signal }),
    ),
    signal,
  )
  if (used === undefined) return { kind: "aborted" }
  if (!used.ok) return { kind: "failed", message: used.error, capacity: false }
  if (used.value.kind === "failed" && used.value.cooldownMs !== undefined) {
    cooldowns.start(endpoint, { ms: used.value.cooldownMs, reason: used.value.message })
  }
  return used.value
}

function modelKey(runtime: ModelRuntime): string {
  return `${endpointKey(runtime)} ${runtime.model}`
}

function auxiliaryRequest(
  { wire }: ModelRuntime,
  { call, settings }: TaskContext,
): Omit<AuxiliaryRequest, "rejectedParameters" | "signal"> {
  // Other wires require no limit, and a limit could cut off models that reason before they reply.
  const limit = settings.maxTokens ?? (wire === "anthropic_messages" ? call.maxTokens : undefined)
  return {
    system: call.system ?? "",
    messages: call.messages,
    tools: call.tools ?? [],
    ...(limit === undefined ? {} : { maxOutputTokens: limit }),
    ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
    acceptReasoning: call.task !== VISION,
  }
}

function warningOnce(problem: string, { call, warned, log }: TaskContext): { readonly warning?: string } {
  if (warned.has(call.task)) return {}
  warned.add(call.task)
  const warning = `the model configured for ${call.task} could not be used: ${problem} instead`
  log.warning(warning)
  return { warning }
}

function noProvider(task: string, unavailable: readonly string[]): AuxiliaryFailure {
  const details = unavailable.length === 0 ? "" : ` (${unavailable.join("; ")})`
  return {
    kind: "no-provider",
    message: `no model is available for ${task}${details}; connect one with \`hermes model\` or set \`auxiliary.${task}.provider\``,
  }
}

function timedOut(task: string, { timeoutSeconds }: AuxiliarySettings): AuxiliaryFailure {
  return {
    kind: "timed-out",
    message: `${task} took longer than ${timeoutSeconds} s; raise the limit with \`hermes config set auxiliary.${task}.timeout N\``,
  }
}

interface Timeout {
  readonly signal: AbortSignal
  stop(): Promise<void>
}

/** Starts a timeout on the injected clock. The caller must call `stop` when the work is done. */
function startTimeout(ms: number, clock: Clock): Timeout {
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
