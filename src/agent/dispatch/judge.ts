import type { Confinement } from "../../exec/confinement.ts"
import type { JudgedPath } from "../../exec/workspace.ts"
import type { ShownDecision } from "../../protocol/events.ts"
import { alwaysPattern } from "../../policy/always-pattern.ts"
import { decide, neededFiles } from "../../policy/decide.ts"
import { isWithin } from "../../policy/file-floor.ts"
import type { Decision, JudgedCommand } from "../../policy/policy-request.ts"
import { checkOrigins } from "./check-origins.ts"
import { askApproval } from "./ask-approval.ts"
import type { AskedCall, Approval } from "./ask-approval.ts"
import type { AuditedDecision, DecidedBy } from "./audit.ts"
import type { CallRun, DispatchSession } from "./dispatch-session.ts"
import { exactCall } from "./exact-call.ts"
import { interruptedOutcome } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { judgedCall } from "./policy-request.ts"
import type { JudgedCall } from "./policy-request.ts"
import type { ReadyCall } from "./prepare.ts"

export type Verdict = { readonly audited: AuditedDecision } & (
  | {
      readonly kind: "go"
      readonly decision: ShownDecision
      /** What the tool may access. */
      readonly paths: readonly JudgedPath[]
      /** Exceptions from the sandbox for the commands of this call. */
      readonly confinement?: Confinement
      /** Call it with the outcome: the next command is judged with what this one left behind in the shell. */
      readonly settled: (outcome: Outcome) => void
    }
  | { readonly kind: "refused"; readonly outcome: Outcome }
)

/** Decides whether a call may run: the policy first, then the user where the policy says `ask`. */
export async function judge(
  prepared: ReadyCall,
  session: DispatchSession,
  run: CallRun,
  /** Sees what changed while a question was open, in contrast to a workspace that caches. */
  uncached: DispatchSession["workspace"] = session.workspace,
): Promise<Verdict> {
  const started = session.clock.now()
  const { profile } = session.permissions
  const judged = await judgedCall(prepared, session)
  const decision = await checkOrigins(
    decide(judged.request, session.permissions.rules()),
    { prepared, judged },
    session,
  )
  const audited = (how: Partial<AuditedDecision> = {}): AuditedDecision => ({
    decision: decision.kind,
    decidedBy: decidedBy(decision),
    rule: decision.rule,
    layer: decision.layer,
    profile,
    latencyMs: session.clock.now() - started,
    ...how,
  })
  const adoptedBefore = session.workspace.adoptedStates?.()
  const settled = (outcome: Outcome): void => {
    const { input } = judged
    if (input !== undefined && outcome.how !== "skipped") {
      session.shell.inputs.set(input.process, input.after)
      if (input.after.state !== undefined) session.shell.ranElsewhere(input.after.state)
      if (input.written !== undefined) session.shell.ranElsewhere(input.written)
    }
    const adopted = session.workspace.adoptedStates?.()
    const isKept = adopted !== undefined && adopted !== adoptedBefore
    rememberCommands(prepared, judged, { how: outcome.how, isKept }, session)
  }
  /** `how`: who approved the call, where the policy asked. Only a user has read which files the question names. */
  const go = (shown: ShownDecision, how?: Partial<AuditedDecision>): Verdict => ({
    kind: "go",
    decision: shown,
    paths: judged.judgedPaths,
    ...confinementOf(judged, session, { isApproved: shown.by === "user" }),
    settled,
    audited: audited(how),
  })
  const denied = (): Verdict => ({
    kind: "refused",
    audited: audited(),
    outcome: refusedOutcome(prepared, "blocked", {
      error: decision.reason,
      summary: `blocked: ${decision.reason.replace(/^BLOCKED(?: \(hardline\))?: /, "")}`,
      decision: { by: "rule", rule: decision.rule, choice: "deny" },
    }),
  })
  if (decision.kind === "allow")
    return go({ by: decision.layer === "profile" ? "profile" : "rule", rule: decision.rule, choice: "allow" })
  if (decision.kind === "deny" && decision.classifier === undefined) return denied()
  const key =
    decision.personOnly === true ? undefined : await exactCall(prepared, judged, { session, fresh: decision.fresh })
  if (key !== undefined && session.permissions.isGranted(key))
    return go({ by: "rule", rule: decision.rule, choice: "allow" }, { decision: "allow", decidedBy: "grant" })
  const asked = { prepared, judged, decision }
  const classified = await classifierAnswer(asked, session, run)
  if (classified === undefined && decision.kind === "deny") return denied()
  const approval = classified ?? (await askApproval(asked, session, run))
  const how = auditedApproval(approval)
  if (approval.kind !== "approved")
    return { kind: "refused", audited: audited(how), outcome: refusal(asked, approval, session) }
  if (key !== undefined) {
    // What was approved must be what runs: a script may have changed while the question was open.
    const current = { ...session, workspace: uncached }
    const again = await judgedCall(prepared, current)
    if ((await exactCall(prepared, again, { session: current, fresh: decision.fresh })) !== key)
      return { kind: "refused", audited: audited({ ...how, decision: "deny" }), outcome: changedOutcome(asked) }
    await keepGrant(approval.choice, key, { asked, session, run })
  }
  return go({ by: approval.by, rule: decision.rule, choice: approval.choice }, how)
}

/** The answer of the auxiliary model where the policy lets it answer; undefined when it leaves the decision to others. */
async function classifierAnswer(
  asked: AskedCall,
  { auxiliary, redact, log }: DispatchSession,
  { signal }: CallRun,
): Promise<Approval | undefined> {
  const { classifier, personOnly, fresh, hard } = asked.decision
  const isAllowed = classifier === "ml" && personOnly !== true && fresh !== true && hard !== true
  if (!isAllowed || auxiliary === undefined || signal.aborted) return undefined
  const { classifyCall } = await import("./classify-call.ts")
  const classification = await classifyCall(asked, { auxiliary, redact }, signal)
  log?.info(`the auxiliary model answered ${classification} for ${asked.prepared.shown.id}`)
  if (classification === "escalate" || signal.aborted) return undefined
  return classification === "approve"
    ? { kind: "approved", choice: "session", by: "classifier" }
    : { kind: "denied", choice: "deny", by: "classifier" }
}

/** In plan mode commands can write nothing. Otherwise git may keep its own settings, and an approval has opened what it named. */
function confinementOf(
  { request }: JudgedCall,
  { permissions, policyDirectories }: DispatchSession,
  { isApproved }: { readonly isApproved: boolean },
): { readonly confinement?: Confinement } {
  if (!request.runsCommands) return {}
  if (permissions.rules().profile.default === "plan") return { confinement: { readOnly: true } }
  const granted = [
    ...neededFiles(request.commands, request.walls).flatMap(({ files }) => files),
    ...(isApproved ? namedFiles(request.commands, policyDirectories.workspaceRoot) : []),
  ]
  const areAll = (is: (command: JudgedCommand) => boolean): boolean =>
    request.commands.length > 0 && request.commands.every(is)
  const isGit = granted.length === 0 && areAll(({ keepsGitSettings }) => keepsGitSettings)
  const confinement: Confinement = {
    ...(granted.length > 0 ? { granted } : {}),
    ...(isGit ? { open: [`${policyDirectories.workspaceRoot}/.git/config`] } : {}),
    ...(areAll(({ updatesTree }) => updatesTree) ? { opensInstructions: true } : {}),
  }
  return Object.keys(confinement).length === 0 ? {} : { confinement }
}

/** The files of the workspace that the question said the command writes. */
function namedFiles(commands: JudgedCall["request"]["commands"], workspaceRoot: string): readonly string[] {
  return commands
    .flatMap(({ verdict }) => verdict.findings)
    .flatMap(({ effects }) => effects)
    .flatMap((effect) => (effect.kind === "write" && effect.path !== undefined ? [effect.path] : []))
    .filter((path) => path !== workspaceRoot && isWithin(path, workspaceRoot))
}

/** Keeps what the user granted: the exact call for the session, or its rule in the settings. */
async function keepGrant(
  choice: "once" | "session" | "always",
  key: string,
  { asked, session, run }: { readonly asked: AskedCall; readonly session: DispatchSession; readonly run: CallRun },
): Promise<void> {
  if (choice === "once") return
  session.permissions.grant(key)
  const pattern = choice === "always" ? alwaysPattern(asked.judged.request) : undefined
  if (pattern === undefined) return
  const saved = await session.permissions.saveRule?.(pattern)
  if (saved?.ok === false) {
    const text = `The rule was not saved: ${saved.error}. It is allowed in this session only.`
    run.events.push({ type: "status", kind: "warning", text })
  }
}

/** Folds what a command left behind into the session's shell. Background commands and pseudo-terminals have a shell of their own. */
function rememberCommands(
  { parsed }: ReadyCall,
  { request }: JudgedCall,
  { how, isKept }: { readonly how: Outcome["how"]; readonly isKept: boolean },
  session: DispatchSession,
): void {
  const { background, pty } = parsed.args
  if (!request.runsCommands || request.isScript === true || how === "skipped") return
  for (const { verdict } of request.commands) {
    if (background === true || pty === true) session.shell.ranElsewhere(verdict.understood.after)
    else session.shell.ran(verdict.understood, isKept ? "kept" : "unknown")
  }
}

function decidedBy({ layer }: Decision): DecidedBy {
  switch (layer) {
    case "floor":
    case "plan":
    case "detector":
    case "provenance":
    case "profile":
      return layer
    default:
      return "rule"
  }
}

function auditedApproval(approval: Approval): Partial<AuditedDecision> {
  if (approval.kind === "interrupted") return { decidedBy: "user", choice: "deny" }
  const { choice, by } = approval
  if (by === "classifier") {
    const isApproved = approval.kind === "approved"
    return { decision: isApproved ? "allow" : "deny", decidedBy: by, ...(isApproved ? { scope: "session" } : {}) }
  }
  const isTimeout = choice === "timeout"
  return {
    decidedBy: isTimeout ? "timeout" : by === "noninteractive" ? "headless" : "user",
    choice,
    ...(approval.kind === "approved" ? { scope: SCOPES[approval.choice] } : {}),
  }
}

const SCOPES = { once: "once", session: "session", always: "permanent" } as const

function refusal(
  { prepared, decision }: AskedCall,
  approval: Exclude<Approval, { kind: "approved" }>,
  { permissions: { reportsTo } }: Pick<DispatchSession, "permissions">,
): Outcome {
  if (approval.kind === "interrupted")
    return interruptedOutcome("Interrupted by the user before it was approved; it was not run.")
  const shown: ShownDecision = { by: approval.by, rule: decision.rule, choice: approval.choice }
  if (approval.by === "classifier") {
    return refusedOutcome(prepared, "blocked", {
      error: `BLOCKED: the auxiliary model that judges commands (auxiliary.approval) denied it (${decision.reason}). Do not try it in another form; ask, or continue without it.`,
      summary: `blocked: the auxiliary model denied it (${decision.reason})`,
      decision: shown,
    })
  }
  if (approval.by === "noninteractive" && approval.choice === "deny") {
    return refusedOutcome(prepared, "denied", {
      error: `Not run: this needs the user's approval (${decision.reason}) and ${WITHOUT_USER[reportsTo]}`,
      summary: `not allowed: ${decision.reason}, and no user is present to approve it`,
      decision: shown,
    })
  }
  const why =
    approval.choice === "deny" ? "the user denied it" : "the approval request timed out, and silence is not consent"
  return refusedOutcome(prepared, "denied", {
    error: `Not run: ${why} (${decision.reason}). Do not try it in another form; ask, or continue without it.`,
    summary: `not allowed: ${why}`,
    decision: shown,
  })
}

const WITHOUT_USER = {
  user: "no user is present. Find another way, or say what should be run.",
  parent:
    "a sub-agent cannot ask for it. Do not try it in another form; report in your result what should be run and why.",
} as const

function changedOutcome({ prepared, decision }: AskedCall): Outcome {
  return refusedOutcome(prepared, "denied", {
    error: "Not run: a file that it runs, or the shell, changed while the approval was open. Send the call again.",
    summary: "not run: it changed while the approval was open",
    decision: { by: "rule", rule: decision.rule, choice: "deny" },
  })
}

/** A command that was not run has the same fields as one that was, so that the model can read both alike. */
function refusedOutcome(
  prepared: ReadyCall,
  how: "blocked" | "denied",
  why: { readonly error: string; readonly summary: string; readonly decision: ShownDecision },
): Outcome {
  const isCommand = prepared.parsed.subjects.some((subject) => subject.kind === "command")
  const { error } = why
  const content = isCommand ? { output: "", exit_code: -1, error, status: "blocked" } : { error, status: "blocked" }
  return { how, from: "door", result: { content, summary: why.summary }, decision: why.decision }
}
