import { assertNever } from "../../base/assert-never.ts"
import type { ShownDecision } from "../../protocol/events.ts"
import { decide } from "../../policy/decide.ts"
import type { Decision, PolicyRequest } from "../../policy/decide.ts"
import type { CallRun, DispatchSession } from "./dispatch-session.ts"
import { interruptedOutcome } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import type { ReadyCall } from "./prepare.ts"

type Verdict =
  | { readonly kind: "go"; readonly decision: ShownDecision }
  | { readonly kind: "refused"; readonly outcome: Outcome }

/** Decides whether a call may run: the policy first, then the user where the policy says `ask`. */
export async function judge(prepared: ReadyCall, session: DispatchSession, run: CallRun): Promise<Verdict> {
  const decision = decide(
    {
      tool: prepared.entry.name,
      access: prepared.parsed.access,
      subjects: prepared.parsed.subjects,
      ...(prepared.parsed.confirm === undefined ? {} : { confirm: prepared.parsed.confirm }),
      ...(await resolvedPaths(prepared, session)),
      directories: session.policyDirectories,
    },
    session.permissions.rules(),
  )
  switch (decision.kind) {
    case "allow":
      return {
        kind: "go",
        decision: { by: decision.layer === "session" ? "rule" : "profile", rule: decision.rule, choice: "allow" },
      }
    case "deny":
      return refused(prepared, "blocked", {
        error: decision.reason,
        summary: `blocked: ${decision.reason.replace(/^BLOCKED \(hardline\): /, "")}`,
        decision: { by: "rule", rule: decision.rule, choice: "deny" },
      })
    case "ask":
      return await askUser(prepared, decision, { session, run })
    default:
      return assertNever(decision)
  }
}

/** The paths that the policy compares, as written and with links resolved. */
async function resolvedPaths(
  prepared: ReadyCall,
  { workspace: { files }, policyDirectories }: DispatchSession,
): Promise<Pick<PolicyRequest, "paths" | "realDirectories">> {
  const literals = prepared.parsed.subjects.flatMap((subject) =>
    subject.kind === "path" ? [files.resolve(subject.path)] : [],
  )
  if (literals.length === 0) return { paths: [] }
  const real = async (path: string): Promise<string> => {
    try {
      return await files.realPath(path)
    } catch {
      // Not resolvable (a loop, no permission): the tool will report why; the literal path is judged.
      return path
    }
  }
  const { workspaceRoot, userHome, hermesHome, hermesRoot } = policyDirectories
  // In parallel: on a remote workspace each lookup is a round trip.
  const [paths, realRoot, realUser, realHermes, realHermesRoot] = await Promise.all([
    Promise.all(literals.map(async (literal) => ({ literal, real: await real(literal) }))),
    real(workspaceRoot),
    real(userHome),
    real(hermesHome),
    real(hermesRoot),
  ])
  return {
    paths,
    realDirectories: {
      workspaceRoot: realRoot,
      userHome: realUser,
      hermesHome: realHermes,
      hermesRoot: realHermesRoot,
    },
  }
}

async function askUser(
  prepared: ReadyCall,
  decision: Extract<Decision, { kind: "ask" }>,
  { session, run }: { readonly session: DispatchSession; readonly run: CallRun },
): Promise<Verdict> {
  const { permissions, clock, redact } = session
  const command = prepared.parsed.subjects.find((subject) => subject.kind === "command")?.command
  const requestId = run.interactions.nextId("approval")
  const timeoutMs = permissions.askTimeoutMs
  run.events.push({
    type: "approval-request",
    requestId,
    kind: command === undefined ? "tool" : "command",
    call: prepared.shown,
    ...(command === undefined ? {} : { command: redact(command) }),
    description: decision.reason,
    rule: decision.rule,
    choices: ["once", "session", "deny"],
    expiresAt: timeoutMs > 0 ? (clock.now() + timeoutMs) / 1000 : null,
  })
  const answered = (choice: string, by: ShownDecision["by"]): void => {
    run.events.push({ type: "status", kind: "answered", text: "", requestId, question: "approval", choice, by })
  }
  if (!permissions.attended()) {
    const choice = permissions.headless === "approve" ? "once" : "deny"
    answered(choice, "noninteractive")
    if (choice === "once") return { kind: "go", decision: { by: "noninteractive", rule: decision.rule, choice } }
    const reason = `Not run: this needs the user's approval (${decision.reason}) and no user is present. Find another way, or say what should be run.`
    return refused(prepared, "denied", {
      error: reason,
      summary: `not allowed: ${decision.reason}, and no user is present to approve it`,
      decision: { by: "noninteractive", rule: decision.rule, choice: "deny" },
    })
  }
  const answer = await run.interactions.wait({ id: requestId, kind: "approval", timeoutMs }, run.signal)
  if (answer === "interrupted") {
    answered("deny", "user")
    const outcome = interruptedOutcome("Interrupted by the user before it was approved; it was not run.")
    return { kind: "refused", outcome }
  }
  const choice = answer === "timeout" ? "timeout" : answer.choice
  answered(choice, answer === "timeout" ? "noninteractive" : "user")
  const shown: ShownDecision = { by: answer === "timeout" ? "noninteractive" : "user", rule: decision.rule, choice }
  if (choice === "deny" || choice === "timeout") {
    const why = choice === "deny" ? "the user denied it" : "the approval request timed out"
    return refused(prepared, "denied", {
      error: `Not run: ${why} (${decision.reason}). Do not try it in another form; ask, or continue without it.`,
      summary: `not allowed: ${why}`,
      decision: shown,
    })
  }
  if (choice === "session" || choice === "always") permissions.grant(decision.rule)
  return { kind: "go", decision: shown }
}

/** A command that was not run has the same fields as one that was, so that the model can read both alike. */
function refused(
  prepared: ReadyCall,
  how: "blocked" | "denied",
  why: { readonly error: string; readonly summary: string; readonly decision: ShownDecision },
): Verdict {
  const isCommand = prepared.parsed.subjects.some((subject) => subject.kind === "command")
  return {
    kind: "refused",
    outcome: {
      how,
      from: "door",
      result: {
        content: { ...(isCommand ? { output: "", exit_code: -1 } : {}), error: why.error, status: "blocked" },
        summary: why.summary,
      },
      decision: why.decision,
    },
  }
}
