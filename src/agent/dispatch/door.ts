import { assertNever } from "../../base/assert-never.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import { withPerCallFileCache } from "../../exec/per-call-file-cache.ts"
import type { Confinement } from "../../exec/confinement.ts"
import type { JudgedPath, Workspace } from "../../exec/workspace.ts"
import type { ShownDecision } from "../../protocol/events.ts"
import type { Subject } from "../../protocol/tool.ts"
import { toolFailureText } from "../../toolkit/error-text.ts"
import { isMultimodal } from "../../toolkit/tool.ts"
import type { ToolPorts } from "../../toolkit/tool.ts"
import { boundResult } from "./bound-result.ts"
import type { BoundResult } from "./bound-result.ts"
import type { InnerCalls } from "./call-tool.ts"
import type { CallRun, DispatchSession } from "./dispatch-session.ts"
import { guardrailLine } from "./guardrails.ts"
import type { GuardedCall, GuardrailDecision } from "./guardrails.ts"
import { runHooks } from "./hooks.ts"
import { judge } from "./judge.ts"
import { errorResult, refusedOutcome, skippedOutcome } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import type { PreparedCall, ReadyCall } from "./prepare.ts"
import type { Settled } from "./settled.ts"
import { runTool } from "./run-tool.ts"
import { measureUserWait } from "./user-wait.ts"

const MAX_PREVIEW_CHARS = 2000
const MAX_SUMMARY_CHARS = 500

/**
 * The only path to a tool. Every call passes through here, already repaired and validated, and settles exactly once: hooks,
 * guardrails, policy, approval, the tool itself, and the limit on its result.
 */
export async function passDoor(given: PreparedCall, session: DispatchSession, run: CallRun): Promise<Settled> {
  const { prepared, denied } = await runHooks(given, session, run)
  const { clock, redact } = session
  const started = clock.now()
  run.events.push({
    type: "tool-start",
    call: prepared.shown,
    preview: prepared.kind === "ready" ? ellipsize(redact(prepared.parsed.preview), MAX_PREVIEW_CHARS) : "",
    ...(prepared.entry?.label !== undefined && { label: prepared.entry.label }),
    access: prepared.kind === "ready" ? prepared.parsed.access : "unknown",
    subjects:
      prepared.kind === "ready" ? prepared.parsed.subjects.map((subject) => shownSubject(subject, session)) : [],
  })
  const { interactions, waitedMs } = measureUserWait(run.interactions, clock)
  const elapsedMs = (): number => clock.now() - started - waitedMs()
  const { outcome, result } = await settle(prepared, session, {
    ...run,
    interactions,
    elapsedMs,
    ...(denied === undefined ? {} : { denied }),
  })
  const warning = warningAbout({ prepared, outcome, result }, session)
  const { exitCode, failureWord, outputTail, diff, filesChanged, summary } = outcome.result
  const durationMs = elapsedMs()
  if (outcome.audited !== undefined) {
    const { id: callId, name: tool } = prepared.shown
    const access = prepared.kind === "ready" ? prepared.parsed.access : "unknown"
    session.audit?.record({
      runId: run.runId,
      callId,
      tool,
      access,
      args: prepared.args,
      status: outcome.how,
      durationMs,
      ...outcome.audited,
    })
  }
  return {
    prepared,
    outcome,
    result,
    ...(warning === undefined ? {} : { warning }),
    end: {
      type: "tool-end",
      call: prepared.shown,
      outcome: outcome.how,
      durationMs,
      summary: ellipsize(redact(summary), MAX_SUMMARY_CHARS),
      truncated: result.truncated,
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(failureWord === undefined ? {} : { failureWord }),
      ...(outputTail === undefined ? {} : { outputTail: redact(outputTail) }),
      ...(diff === undefined ? {} : { diff: redact(diff) }),
      ...(filesChanged === undefined ? {} : { filesChanged }),
      ...(outcome.decision === undefined ? {} : { decision: outcome.decision }),
    },
  }
}

/** A fault in a tool, a plugin or Hermes becomes an error result, and the turn continues. */
async function settle(
  prepared: PreparedCall,
  session: DispatchSession,
  run: CallRun & { readonly denied?: Outcome; readonly elapsedMs: () => number },
): Promise<{ readonly outcome: Outcome; readonly result: BoundResult }> {
  try {
    const settled = run.denied ?? (await judgeAndRun(prepared, session, run))
    const outcome = await reportEnd(prepared, settled, { session, run, durationMs: run.elapsedMs() })
    return { outcome, result: await boundResult(prepared, outcome, session) }
  } catch (error) {
    const outcome: Outcome = { how: "error", from: "tool", result: errorResult(toolFailureText(error)) }
    return { outcome, result: await boundResult(prepared, outcome, session) }
  }
}

/** Hooks see the result before it is bounded, and may replace what a tool returned. */
async function reportEnd(
  prepared: PreparedCall,
  outcome: Outcome,
  {
    session,
    run,
    durationMs,
  }: { readonly session: DispatchSession; readonly run: CallRun; readonly durationMs: number },
): Promise<Outcome> {
  const { toolEnded } = session.hooks ?? {}
  if (toolEnded === undefined || prepared.kind === "refused") return outcome
  const { content } = outcome.result
  const { error } = isMultimodal(content) ? {} : content
  const text = await toolEnded({
    tool: prepared.entry.name,
    callId: prepared.call.id,
    entry: prepared.entry,
    args: prepared.args,
    outcome: outcome.how,
    text: isMultimodal(content) ? content.text_summary : JSON.stringify(content),
    ...(typeof error === "string" ? { error } : {}),
    durationMs,
    signal: run.signal,
  })
  if (text === undefined || outcome.from !== "tool") return outcome
  const replaced = parseJson(text)
  return { ...outcome, result: { ...outcome.result, content: isRecord(replaced) ? replaced : { result: text } } }
}

async function judgeAndRun(prepared: PreparedCall, session: DispatchSession, run: CallRun): Promise<Outcome> {
  if (run.signal.aborted) return skippedOutcome("Skipped: the user interrupted before this call started.")
  if (prepared.kind === "refused" && prepared.why === "skipped") return skippedOutcome(prepared.error)
  // Guardrails do not count calls of tools that do not exist: the loop does.
  if (prepared.kind === "refused" && prepared.why === "unknown-tool") return refusedOutcome(prepared.error)
  const guarded = session.guardrails?.before(guardedCall(prepared))
  if (guarded !== undefined && guarded.action !== "allow") return stoppedByGuardrail(guarded)
  if (prepared.kind === "refused") return refusedOutcome(prepared.error)
  const cached = withPerCallFileCache(session.workspace)
  const verdict = await judge(prepared, { ...session, workspace: cached }, run, session.workspace)
  const { audited } = verdict
  if (verdict.kind === "refused") return { ...verdict.outcome, audited }
  const current = wasAsked(verdict.decision) ? withPerCallFileCache(session.workspace) : cached
  const workspace = withConfinement(withJudgedPaths(current, verdict.paths), verdict.confinement)
  const context: DispatchSession["context"] = (...call) => ({ ...session.context(...call), workspace })
  const { granted: opened = [], open, opensInstructions } = verdict.confinement ?? {}
  const innerCalls = callsTools(prepared) ? await openInnerCalls(prepared, session, run) : undefined
  const ports: Partial<ToolPorts> = innerCalls === undefined ? {} : { callTool: innerCalls.port }
  const outcome = await runTool(
    prepared,
    { ...session, context },
    {
      ...run,
      opened,
      ...(opensInstructions === undefined ? {} : { opensInstructions }),
      ...(open === undefined ? {} : { opensGitSettings: true }),
      ports,
    },
  )
  await innerCalls?.end()
  verdict.settled(outcome)
  const innerNotes = innerCalls?.notes() ?? []
  return { decision: verdict.decision, ...outcome, audited, ...(innerNotes.length === 0 ? {} : { innerNotes }) }
}

/** Scripts, and skills with inline commands. */
function callsTools({ entry: { role } }: ReadyCall): boolean {
  return role === "script" || role === "skills"
}

async function openInnerCalls(prepared: ReadyCall, session: DispatchSession, run: CallRun): Promise<InnerCalls> {
  const { createInnerCalls } = await import("./call-tool.ts")
  return createInnerCalls({ kind: "call", outer: prepared }, { session, run, passDoor })
}

/** The tool looks no path up again: it accesses what was judged, even when a link has changed since. */
function withJudgedPaths(workspace: Workspace, paths: readonly JudgedPath[]): Workspace {
  const { withJudgedPaths: bind } = workspace.files
  return bind === undefined || paths.length === 0 ? workspace : { ...workspace, files: bind(paths) }
}

function withConfinement(workspace: Workspace, confinement: Confinement | undefined): Workspace {
  if (confinement === undefined) return workspace
  const { programs } = workspace
  return {
    ...workspace,
    run: (command, options) => workspace.run(command, { ...options, confinement }),
    start: async (command, options) => await workspace.start(command, { ...options, confinement }),
    ...(programs === undefined
      ? {}
      : { programs: { ...programs, start: async (program) => await programs.start({ ...program, confinement }) } }),
  }
}

/** While the user decides, files may change, so cached file facts are no longer valid. */
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
    result: { content: { error: guardrail.message, guardrail }, summary: "stopped: repeated call" },
    decision: { by: "rule", rule: guardrail.code, choice: "deny" },
    guardrail,
  }
}

/** Counts every call that has a result, refused ones too, but not those that were interrupted or skipped. */
function warningAbout(
  { prepared, outcome, result }: Pick<Settled, "prepared" | "outcome" | "result">,
  { guardrails }: DispatchSession,
): string | undefined {
  if (guardrails === undefined || outcome.how === "skipped" || outcome.how === "interrupted") return undefined
  if (outcome.guardrail !== undefined) return undefined
  const verdict = guardrails.after(guardedCall(prepared), { ...outcome.result, text: result.whole })
  return verdict.action === "allow" ? undefined : guardrailLine(verdict)
}

function shownSubject(subject: Subject, { redact }: DispatchSession): Subject {
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
