import { assertNever } from "../../base/assert-never.ts"
import { ellipsize } from "../../base/text.ts"
import { viewForOneCall } from "../../exec/view-for-one-call.ts"
import type { AgentEventBody, ShownDecision } from "../../protocol/events.ts"
import type { Subject } from "../../protocol/tool.ts"
import { toolFailureText } from "../../toolkit/error-text.ts"
import { boundResult } from "./bound-result.ts"
import type { BoundOptions, BoundResult } from "./bound-result.ts"
import { guardrailLine } from "./guardrails.ts"
import type { GuardedCall, GuardrailDecision, Guardrails } from "./guardrails.ts"
import { judge } from "./judge.ts"
import type { JudgeOptions } from "./judge.ts"
import { errorResult, refusedOutcome, skippedOutcome } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import type { PreparedCall } from "./prepare.ts"
import { runTool } from "./run-tool.ts"
import type { RunToolOptions } from "./run-tool.ts"

/** What the door needs of its session. */
export interface DoorOptions extends JudgeOptions, RunToolOptions, BoundOptions {
  /** Notices a model that repeats itself; without it nobody does. */
  readonly guardrails?: Guardrails
}

/** A call that went all the way but for being recorded. */
export interface Settled {
  readonly prepared: PreparedCall
  readonly outcome: Outcome
  readonly result: BoundResult
  /** What the guardrails say about it, for the end of the result. */
  readonly warning?: string
  readonly end: Extract<AgentEventBody, { type: "tool-end" }>
}

const MAX_PREVIEW_CHARS = 2000
const MAX_SUMMARY_CHARS = 500

/**
 * The one door (law 4). Every call of every origin passes here and settles exactly once, whatever happens: repaired and
 * validated before, now judged, asked about, run and bounded.
 */
export async function passDoor(prepared: PreparedCall, options: DoorOptions): Promise<Settled> {
  const started = options.clock.now()
  options.events.push({
    type: "tool-start",
    call: prepared.shown,
    preview: prepared.kind === "ready" ? ellipsize(options.redact(prepared.parsed.preview), MAX_PREVIEW_CHARS) : "",
    access: prepared.kind === "ready" ? prepared.parsed.access : "unknown",
    subjects:
      prepared.kind === "ready" ? prepared.parsed.subjects.map((subject) => shownSubject(subject, options)) : [],
  })
  const { outcome, result } = await settle(prepared, options)
  const warning = warningAbout({ prepared, outcome, result }, options)
  const { exitCode, diff, filesChanged, summary } = outcome.result
  return {
    prepared,
    outcome,
    result,
    ...(warning === undefined ? {} : { warning }),
    end: {
      type: "tool-end",
      call: prepared.shown,
      outcome: outcome.how,
      durationMs: options.clock.now() - started,
      summary: ellipsize(options.redact(summary), MAX_SUMMARY_CHARS),
      truncated: result.truncated,
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(diff === undefined ? {} : { diff: options.redact(diff) }),
      ...(filesChanged === undefined ? {} : { filesChanged }),
      ...(outcome.decision === undefined ? {} : { decision: outcome.decision }),
    },
  }
}

/** A fault of a tool, a plugin or of ours is a result too: the model is told, and the turn goes on. */
async function settle(
  prepared: PreparedCall,
  options: DoorOptions,
): Promise<{ readonly outcome: Outcome; readonly result: BoundResult }> {
  try {
    const outcome = await judgeAndRun(prepared, options)
    return { outcome, result: await boundResult(prepared, outcome, options) }
  } catch (error) {
    const outcome: Outcome = { how: "error", from: "tool", result: errorResult(toolFailureText(error)) }
    return { outcome, result: await boundResult(prepared, outcome, options) }
  }
}

async function judgeAndRun(prepared: PreparedCall, options: DoorOptions): Promise<Outcome> {
  if (options.signal.aborted) return skippedOutcome("Skipped: the person interrupted before this call was started.")
  if (prepared.kind === "refused" && prepared.why === "skipped") return skippedOutcome(prepared.error)
  // Calls of tools that do not exist have an end of their own: the loop counts them.
  if (prepared.kind === "refused" && prepared.why === "unknown-tool") return refusedOutcome(prepared.error)
  const guarded = options.guardrails?.before(guardedCall(prepared))
  if (guarded !== undefined && guarded.action !== "allow") return stoppedByGuardrail(guarded)
  if (prepared.kind === "refused") return refusedOutcome(prepared.error)
  const seen = viewForOneCall(options.workspace)
  const verdict = await judge(prepared, { ...options, workspace: seen })
  if (verdict.kind === "refused") return verdict.outcome
  const workspace = wasAsked(verdict.decision) ? viewForOneCall(options.workspace) : seen
  const context: DoorOptions["context"] = (...given) => ({ ...options.context(...given), workspace })
  return { ...(await runTool(prepared, { ...options, context })), decision: verdict.decision }
}

/** While a person thinks, files change: what was looked at before is not good any more. */
function wasAsked({ by }: ShownDecision): boolean {
  return by !== "rule" && by !== "profile"
}

function guardedCall(prepared: PreparedCall): GuardedCall {
  const broken = prepared.kind === "refused" && prepared.why === "broken-arguments"
  return {
    tool: prepared.shown.name,
    args: broken ? prepared.call.function.arguments : prepared.args,
    idempotent: prepared.entry?.idempotent === true,
  }
}

function stoppedByGuardrail(guardrail: GuardrailDecision): Outcome {
  return {
    how: "blocked",
    from: "door",
    result: { content: { error: guardrail.message, guardrail }, summary: "stopped: it repeats itself" },
    decision: { by: "rule", rule: guardrail.code, choice: "deny" },
    guardrail,
  }
}

/** Every call that got an answer counts, also one that was refused; what was stopped or never started says nothing. */
function warningAbout(
  { prepared, outcome, result }: Pick<Settled, "prepared" | "outcome" | "result">,
  { guardrails }: DoorOptions,
): string | undefined {
  if (guardrails === undefined || outcome.how === "skipped" || outcome.how === "interrupted") return undefined
  if (outcome.guardrail !== undefined) return undefined
  const verdict = guardrails.after(guardedCall(prepared), { ...outcome.result, text: result.whole })
  return verdict.action === "allow" ? undefined : guardrailLine(verdict)
}

function shownSubject(subject: Subject, { redact }: DoorOptions): Subject {
  switch (subject.kind) {
    case "path":
      return { kind: "path", path: redact(subject.path) }
    case "command":
      return { kind: "command", command: redact(subject.command) }
    case "url":
      return { kind: "url", url: redact(subject.url) }
    case "query":
      return { kind: "query", query: redact(subject.query) }
    case "target":
      return { kind: "target", target: redact(subject.target) }
    case "name":
      return { kind: "name", name: redact(subject.name) }
    default:
      return assertNever(subject)
  }
}
