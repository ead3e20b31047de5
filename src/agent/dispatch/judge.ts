import { assertNever } from "../../base/assert-never.ts"
import type { Channel } from "../../base/channel.ts"
import type { Clock } from "../../base/clock.ts"
import type { Workspace } from "../../exec/workspace.ts"
import type { AgentEventBody, ShownDecision } from "../../protocol/events.ts"
import { decide } from "../../policy/decide.ts"
import type { Decision, PolicyPlaces, PolicyRequest } from "../../policy/decide.ts"
import type { Interactions } from "../interactions.ts"
import type { Permissions } from "../permissions.ts"
import { interruptedOutcome } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import type { ReadyCall } from "./prepare.ts"

export interface JudgeOptions {
  readonly workspace: Workspace
  readonly permissions: Permissions
  readonly places: PolicyPlaces
  readonly interactions: Interactions
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly events: Channel<AgentEventBody>
  readonly redact: (text: string) => string
}

/** Whether a call may run: the policy decides, and a person where the policy asks for one. */
type Verdict =
  | { readonly kind: "go"; readonly decision: ShownDecision }
  | { readonly kind: "refused"; readonly outcome: Outcome }

export async function judge(prepared: ReadyCall, options: JudgeOptions): Promise<Verdict> {
  const decision = decide(
    {
      tool: prepared.entry.name,
      access: prepared.parsed.access,
      subjects: prepared.parsed.subjects,
      ...(prepared.parsed.confirm === undefined ? {} : { confirm: prepared.parsed.confirm }),
      ...(await resolvedPaths(prepared, options)),
      places: options.places,
    },
    options.permissions.rules(),
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
        decision: { by: "rule", rule: decision.rule, choice: "deny" },
      })
    case "ask":
      return await askPerson(prepared, decision, options)
    default:
      return assertNever(decision)
  }
}

/** Everything the policy compares by path, as written and with links resolved. */
async function resolvedPaths(
  prepared: ReadyCall,
  options: JudgeOptions,
): Promise<Pick<PolicyRequest, "paths" | "realPlaces">> {
  const { files } = options.workspace
  const literals = prepared.parsed.subjects.flatMap((subject) =>
    subject.kind === "path" ? [files.resolve(subject.path)] : [],
  )
  if (literals.length === 0) return { paths: [] }
  const real = async (path: string): Promise<string> => {
    try {
      return await files.realPath(path)
    } catch {
      // Not resolvable (a loop, no permission): the tool will say why; the literal path is judged.
      return path
    }
  }
  const { workspaceRoot, userHome, hermesHome, hermesRoot } = options.places
  // At once: where the files are on another machine, each question is a journey.
  const [paths, realRoot, realUser, realHermes, realHermesRoot] = await Promise.all([
    Promise.all(literals.map(async (literal) => ({ literal, real: await real(literal) }))),
    real(workspaceRoot),
    real(userHome),
    real(hermesHome),
    real(hermesRoot),
  ])
  return {
    paths,
    realPlaces: {
      workspaceRoot: realRoot,
      userHome: realUser,
      hermesHome: realHermes,
      hermesRoot: realHermesRoot,
    },
  }
}

async function askPerson(
  prepared: ReadyCall,
  decision: Extract<Decision, { kind: "ask" }>,
  options: JudgeOptions,
): Promise<Verdict> {
  const command = prepared.parsed.subjects.find((subject) => subject.kind === "command")?.command
  const requestId = options.interactions.nextId("approval")
  const timeoutMs = options.permissions.askTimeoutMs
  options.events.push({
    type: "approval-request",
    requestId,
    kind: command === undefined ? "tool" : "command",
    call: prepared.shown,
    ...(command === undefined ? {} : { command: options.redact(command) }),
    description: decision.reason,
    rule: decision.rule,
    choices: ["once", "session", "deny"],
    expiresAt: timeoutMs > 0 ? (options.clock.now() + timeoutMs) / 1000 : null,
  })
  const answered = (choice: string, by: ShownDecision["by"]): void => {
    options.events.push({ type: "status", kind: "answered", text: "", requestId, question: "approval", choice, by })
  }
  if (!options.permissions.attended) {
    const choice = options.permissions.headless === "approve" ? "once" : "deny"
    answered(choice, "noninteractive")
    if (choice === "once") return { kind: "go", decision: { by: "noninteractive", rule: decision.rule, choice } }
    const reason = `Not run: this needs a person's consent (${decision.reason}) and nobody is here to give it. Find another way or say what should be run.`
    return refused(prepared, "denied", {
      error: reason,
      decision: { by: "noninteractive", rule: decision.rule, choice: "deny" },
    })
  }
  const answer = await options.interactions.wait({ id: requestId, kind: "approval", timeoutMs }, options.signal)
  if (answer === "interrupted") {
    answered("deny", "user")
    const outcome = interruptedOutcome("Interrupted by the person before it was allowed; it was not run.")
    return { kind: "refused", outcome }
  }
  const choice = answer === "timeout" ? "timeout" : answer.choice
  answered(choice, answer === "timeout" ? "noninteractive" : "user")
  const shown: ShownDecision = { by: answer === "timeout" ? "noninteractive" : "user", rule: decision.rule, choice }
  if (choice === "deny" || choice === "timeout") {
    const why = choice === "deny" ? "the person said no" : "nobody answered in time"
    return refused(prepared, "denied", {
      error: `Not run: ${why} (${decision.reason}). Do not try it in another form; ask or go on without it.`,
      decision: shown,
    })
  }
  if (choice === "session" || choice === "always") options.permissions.grant(decision.rule)
  return { kind: "go", decision: shown }
}

/** A command that was not run has the fields of one that was, so that the model reads both the same way. */
function refused(
  prepared: ReadyCall,
  how: "blocked" | "denied",
  why: { readonly error: string; readonly decision: ShownDecision },
): Verdict {
  const isCommand = prepared.parsed.subjects.some((subject) => subject.kind === "command")
  return {
    kind: "refused",
    outcome: {
      how,
      from: "door",
      result: {
        content: { ...(isCommand ? { output: "", exit_code: -1 } : {}), error: why.error, status: "blocked" },
        summary: how === "denied" ? "not allowed" : "blocked",
      },
      decision: why.decision,
    },
  }
}
