import { ellipsize } from "../../base/text.ts"
import { alwaysPattern, alwaysScope } from "../../policy/always-pattern.ts"
import type { Walls } from "../../policy/commands/command-verdict.ts"
import type { Decision } from "../../policy/policy-request.ts"
import type {
  ApprovalChoice,
  ApprovalRequest,
  ShownDecision,
  ShownSandbox,
  UnderstoodProgram,
} from "../../protocol/events.ts"
import type { Headless } from "../permissions.ts"
import { redactArguments } from "../redact-arguments.ts"
import type { CallRun, DispatchSession } from "./dispatch-session.ts"
import type { JudgedCall } from "./policy-request.ts"
import type { ReadyCall } from "./prepare.ts"

export interface AskedCall {
  readonly prepared: ReadyCall
  readonly judged: JudgedCall
  readonly decision: Decision
}

export type Approval =
  | { readonly kind: "approved"; readonly choice: "once" | "session" | "always"; readonly by: ShownDecision["by"] }
  | { readonly kind: "denied"; readonly choice: "deny" | "timeout"; readonly by: ShownDecision["by"] }
  | { readonly kind: "interrupted" }

const MAX_UNDERSTOOD = 50
const MAX_WORD_CHARS = 2000

/** Emits an `approval-request` and waits for the answer. No answer, no user and no listener are a denial. */
export async function askApproval(asked: AskedCall, session: DispatchSession, run: CallRun): Promise<Approval> {
  const { permissions } = session
  const requestId = run.interactions.nextId("approval")
  const timeoutMs = permissions.askTimeoutMs
  const request = await approvalRequest(asked, session)
  const expiresAt = timeoutMs > 0 ? (session.clock.now() + timeoutMs) / 1000 : null
  run.events.push({ type: "approval-request", requestId, ...request, expiresAt })
  const answered = (choice: ApprovalChoice, by: ShownDecision["by"]): void => {
    run.events.push({ type: "status", kind: "answered", text: "", requestId, question: "approval", choice, by })
  }
  if (!permissions.attended()) {
    const isApproved = isApprovedWithoutUser(asked.decision, permissions.headless)
    answered(isApproved ? "once" : "deny", "noninteractive")
    return isApproved
      ? { kind: "approved", choice: "once", by: "noninteractive" }
      : { kind: "denied", choice: "deny", by: "noninteractive" }
  }
  const answer = await run.interactions.wait({ id: requestId, kind: "approval", timeoutMs }, run.signal)
  if (answer === "interrupted") {
    answered("deny", "user")
    return { kind: "interrupted" }
  }
  if (answer === "timeout") {
    answered("timeout", "noninteractive")
    return { kind: "denied", choice: "timeout", by: "noninteractive" }
  }
  // A surface may send a choice that was not offered; the strongest that was offered is `once`.
  const choice = request.choices.includes(answer.choice) ? answer.choice : "once"
  answered(choice, "user")
  return choice === "deny" ? { kind: "denied", choice, by: "user" } : { kind: "approved", choice, by: "user" }
}

function isApprovedWithoutUser({ personOnly, fresh, layer }: Decision, headless: Headless): boolean {
  if (personOnly === true || fresh === true) return false
  return headless === "approve" || (headless === "approve-detected" && layer === "detector")
}

type ShownRequest = Omit<ApprovalRequest, "type" | "requestId" | "expiresAt">

async function approvalRequest(
  { prepared, judged, decision }: AskedCall,
  session: DispatchSession,
): Promise<ShownRequest> {
  const { request, state } = judged
  const mask = { isUsed: false }
  // The user judges the text, so only known secrets are masked: a masked key could hide code.
  const redact = (text: string): string => {
    const shown = session.redact(text, { knownOnly: true })
    mask.isUsed ||= shown !== text
    return shown
  }
  const [command] = request.commands
  const changes = command === undefined ? [] : (await import("../../policy/changed-shell.ts")).shellChanges(state)
  // A rule would allow the line also in a shell where it starts the usual programs, or others.
  const pattern = changes.length === 0 ? offeredPattern(judged, decision, session) : undefined
  const { background, pty } = prepared.parsed.args
  const shown: ShownRequest = {
    kind: command === undefined ? "tool" : "command",
    call: { ...prepared.shown, args: redactArguments(prepared.args, redact) },
    ...(command === undefined ? {} : { command: redact(command.line) }),
    description: redact([decision.reason, ...changes].join("; ")),
    rule: decision.rule,
    choices: decision.personOnly === true ? ["once", "deny"] : pattern === undefined ? WITHOUT_ALWAYS : ALL_CHOICES,
    reasons: [...decision.reasons, ...changes].map(redact),
    ...(pattern === undefined ? {} : { pattern, ...scopeOf(request) }),
    ...(command === undefined
      ? {}
      : {
          ...(state.directory === undefined ? {} : { directory: state.directory }),
          background: background === true,
          pty: pty === true,
          sandbox: shownSandbox((await wallsOf(request, session)) ?? request.walls),
          understood: understoodPrograms(judged, redact),
        }),
  }
  return mask.isUsed ? { ...shown, masked: true } : shown
}

function scopeOf(request: JudgedCall["request"]): Pick<ShownRequest, "patternScope"> {
  const patternScope = alwaysScope(request)
  return patternScope === undefined ? {} : { patternScope }
}

function wallsOf({ isScript }: JudgedCall["request"], session: DispatchSession): Promise<Walls> | undefined {
  return isScript === true && session.scriptWalls !== undefined ? session.scriptWalls() : session.walls?.()
}

function shownSandbox(walls: Walls): ShownSandbox {
  return walls.kind === "sandbox" ? { kind: walls.kind, network: walls.network, hosts: walls.hosts } : walls
}

const ALL_CHOICES: readonly ApprovalChoice[] = ["once", "session", "always", "deny"]
const WITHOUT_ALWAYS: readonly ApprovalChoice[] = ["once", "session", "deny"]

/** A pattern with a secret in it is not offered: it would be saved in the settings. */
function offeredPattern({ request }: JudgedCall, decision: Decision, session: DispatchSession): string | undefined {
  if (decision.personOnly === true || session.permissions.saveRule === undefined) return undefined
  const pattern = alwaysPattern(request)?.text
  return pattern === undefined || session.redact(pattern) !== pattern ? undefined : pattern
}

function understoodPrograms({ request }: JudgedCall, redact: (text: string) => string): readonly UnderstoodProgram[] {
  return request.commands
    .flatMap(({ verdict }) => verdict.understood.commands)
    .slice(0, MAX_UNDERSTOOD)
    .map(({ text, wrappers, directory }) => ({
      command: ellipsize(redact(text), MAX_WORD_CHARS),
      wrappers: wrappers.map(({ program }) => program),
      ...(directory === undefined ? {} : { directory }),
    }))
}
