import { canonicalJson } from "../../base/json.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import type { Origin } from "../origin.ts"

/**
 * Detects a model that repeats itself. Counts belong to one turn. A warning is added to the result; a block (the call does not
 * run) and a halt end the turn after the batch.
 */
export interface Guardrails {
  beginTurn(): void
  before(call: GuardedCall): GuardrailVerdict
  after(call: GuardedCall, result: GuardedResult): GuardrailVerdict
  /** The decision that ends this turn. */
  halted(): GuardrailDecision | undefined
  /** The same limits with counts of their own. */
  separate(): Guardrails
}

/** `tool_loop_guardrails` of the settings. A number that is not positive means the default. */
export interface GuardrailSettings {
  readonly warningsEnabled: boolean
  readonly hardStopEnabled: boolean
  readonly warnAfter: GuardrailLimits
  readonly hardStopAfter: GuardrailLimits
}

interface GuardrailLimits {
  readonly exactFailure: number
  readonly sameToolFailure: number
  readonly idempotentNoProgress: number
}

export interface GuardedCall {
  readonly tool: string
  /** As the model wrote them. */
  readonly args: unknown
  /** An equal result for equal arguments means no progress. */
  readonly idempotent: boolean
}

export interface GuardedResult extends Pick<ToolResult, "content" | "exitCode" | "filesChanged"> {
  /** The result as text, before anything was cut from it. */
  readonly text: string
}

export type GuardrailVerdict = { readonly action: "allow" } | GuardrailDecision

/** Field names are snake_case because a block hands this to the model. */
export interface GuardrailDecision {
  readonly action: "warn" | "block" | "halt"
  readonly code: GuardrailCode
  readonly message: string
  readonly tool_name: string
  readonly count: number
  readonly signature: { readonly tool_name: string; readonly args_hash: string }
}

type GuardrailCode =
  | "repeated_exact_failure_warning"
  | "repeated_exact_failure_block"
  | "same_tool_failure_warning"
  | "same_tool_failure_halt"
  | "idempotent_no_progress_warning"
  | "idempotent_no_progress_block"

const DEFAULT_WARN_AFTER: GuardrailLimits = { exactFailure: 2, sameToolFailure: 3, idempotentNoProgress: 2 }
const DEFAULT_HARD_STOP_AFTER: GuardrailLimits = { exactFailure: 5, sameToolFailure: 8, idempotentNoProgress: 5 }

/** Without a user to stop it, the third identical failing call does not run, regardless of the settings. */
const UNATTENDED_FAILURES = 2

export function createGuardrails(settings: GuardrailSettings & Pick<Origin, "attended">): Guardrails {
  const warnAfter = settings.warningsEnabled ? positive(settings.warnAfter, DEFAULT_WARN_AFTER) : NEVER
  const hardStop = settings.hardStopEnabled ? positive(settings.hardStopAfter, DEFAULT_HARD_STOP_AFTER) : NEVER
  const limits = (): GuardrailLimits =>
    settings.attended() ? hardStop : { ...hardStop, exactFailure: Math.min(hardStop.exactFailure, UNATTENDED_FAILURES) }
  let stopAfter = limits()
  let counts = newCounts()
  let stopped: GuardrailDecision | undefined
  const stop = (decision: GuardrailDecision): GuardrailDecision => {
    stopped ??= decision
    return decision
  }
  return {
    beginTurn: () => {
      counts = newCounts()
      stopAfter = limits()
      stopped = undefined
    },
    before: (call) => {
      // Usually nothing can be blocked; do not spend time on hashes then.
      const mayHaveFailed = counts.exactFailures.size > 0 && stopAfter.exactFailure < Infinity
      const mayBeUnchanged = counts.unchanged.size > 0 && stopAfter.idempotentNoProgress < Infinity
      if (!mayHaveFailed && !mayBeUnchanged) return ALLOW
      const decide = decisions(call)
      const failures = counts.exactFailures.get(decide.key) ?? 0
      if (failures >= stopAfter.exactFailure) return stop(decide.exactFailureBlock(failures))
      const same = counts.unchanged.get(decide.key)?.count ?? 0
      return same >= stopAfter.idempotentNoProgress ? stop(decide.noProgressBlock(same)) : ALLOW
    },
    after: (call, result) => {
      if (isFailure(result)) {
        const decide = decisions(call)
        const exact = increment(counts.exactFailures, decide.key)
        const sameTool = increment(counts.toolFailures, call.tool)
        counts.unchanged.delete(decide.key)
        if (sameTool >= stopAfter.sameToolFailure) return stop(decide.sameToolHalt(sameTool))
        if (exact >= warnAfter.exactFailure) return decide.exactFailureWarning(exact)
        if (sameTool >= warnAfter.sameToolFailure) return decide.sameToolWarning(sameTool, result)
        return ALLOW
      }
      counts.toolFailures.delete(call.tool)
      if (counts.exactFailures.size === 0 && !call.idempotent) return ALLOW
      const decide = decisions(call)
      counts.exactFailures.delete(decide.key)
      if (!call.idempotent) return ALLOW
      const same = countUnchanged(counts, decide.key, result)
      return same >= warnAfter.idempotentNoProgress ? decide.noProgressWarning(same) : ALLOW
    },
    halted: () => stopped,
    separate: () => createGuardrails(settings),
  }
}

/** What the model reads below the result of a call that was warned about or that ended the turn. */
export function guardrailLine({ action, code, count, message }: GuardrailDecision): string {
  const kind = action === "warn" ? "Tool loop warning" : "Tool loop hard stop"
  return `[${kind}: ${code}; count=${count}; ${message}]`
}

const ALLOW: GuardrailVerdict = { action: "allow" }
const NEVER: GuardrailLimits = { exactFailure: Infinity, sameToolFailure: Infinity, idempotentNoProgress: Infinity }

function positive(limits: GuardrailLimits, defaults: GuardrailLimits): GuardrailLimits {
  const or = (limit: number, fallback: number): number => (limit > 0 ? limit : fallback)
  return {
    exactFailure: or(limits.exactFailure, defaults.exactFailure),
    sameToolFailure: or(limits.sameToolFailure, defaults.sameToolFailure),
    idempotentNoProgress: or(limits.idempotentNoProgress, defaults.idempotentNoProgress),
  }
}

interface Counts {
  /** By signature. */
  readonly exactFailures: Map<string, number>
  readonly toolFailures: Map<string, number>
  /** By signature: how often in a row the result was the same. */
  readonly unchanged: Map<string, { readonly resultHash: string; readonly count: number }>
}

function newCounts(): Counts {
  return { exactFailures: new Map(), toolFailures: new Map(), unchanged: new Map() }
}

function increment(counts: Map<string, number>, key: string): number {
  const count = (counts.get(key) ?? 0) + 1
  counts.set(key, count)
  return count
}

function countUnchanged({ unchanged }: Counts, key: string, { content }: GuardedResult): number {
  const resultHash = sha256Hex(canonicalJson(content))
  const before = unchanged.get(key)
  const count = before?.resultHash === resultHash ? before.count + 1 : 1
  unchanged.set(key, { resultHash, count })
  return count
}

const JUDGED_CHARS = 500

/** The exit code of a command decides, not its output. A successful write is not a failure, whatever the file contains. */
function isFailure(result: GuardedResult): boolean {
  const exitCode = exitCodeOf(result)
  if (exitCode !== undefined) return exitCode !== 0
  if ((result.filesChanged ?? []).length > 0) return false
  const head = result.text.slice(0, JUDGED_CHARS)
  return head.includes('"error"') || head.includes('"failed"') || head.startsWith("Error")
}

function exitCodeOf({ exitCode, content }: GuardedResult): number | undefined {
  if (exitCode !== undefined) return exitCode
  const field = "exit_code" in content ? content["exit_code"] : undefined
  return typeof field === "number" ? field : undefined
}

/** The possible decisions about one call, and the key under which it is counted. */
function decisions({ tool, args }: GuardedCall) {
  const signature = { tool_name: tool, args_hash: sha256Hex(canonicalJson(args)) }
  const about = (count: number) => ({ tool_name: tool, count, signature })
  return {
    key: `${tool}\n${signature.args_hash}`,
    exactFailureWarning: (count: number): GuardrailDecision => ({
      action: "warn",
      code: "repeated_exact_failure_warning",
      message: `${tool} has failed ${count} times with the same arguments. The same call will fail again: read the error, then change the arguments or the approach.`,
      ...about(count),
    }),
    exactFailureBlock: (count: number): GuardrailDecision => ({
      action: "block",
      code: "repeated_exact_failure_block",
      message: `${tool} was not run again: it has failed ${count} times in this turn with the same arguments.`,
      ...about(count),
    }),
    sameToolWarning: (count: number, result: GuardedResult): GuardrailDecision => ({
      action: "warn",
      code: "same_tool_failure_warning",
      message: `${tool} has failed ${count} times in this turn. Find out why first, then continue with other arguments or another tool.${exitCodeOf(result) === undefined ? "" : COMMAND_ADVICE}`,
      ...about(count),
    }),
    sameToolHalt: (count: number): GuardrailDecision => ({
      action: "halt",
      code: "same_tool_failure_halt",
      message: `${tool} has failed ${count} times in this turn, so the turn was stopped.`,
      ...about(count),
    }),
    noProgressWarning: (count: number): GuardrailDecision => ({
      action: "warn",
      code: "idempotent_no_progress_warning",
      message: `${tool} has returned the same result ${count} times for the same arguments. Use that result, or try something else.`,
      ...about(count),
    }),
    noProgressBlock: (count: number): GuardrailDecision => ({
      action: "block",
      code: "idempotent_no_progress_block",
      message: `${tool} was not run again: it has returned the same result ${count} times in this turn for the same arguments.`,
      ...about(count),
    }),
  }
}

const COMMAND_ADVICE =
  " `pwd; ls -la` shows where you are and what is there, `command -v NAME` whether a program is installed."
