import { orAborted } from "../../base/abort.ts"
import type { Channel } from "../../base/channel.ts"
import type { Clock } from "../../base/clock.ts"
import type { AgentEventBody, ShownDecision } from "../../protocol/events.ts"
import type { ToolMessage } from "../../protocol/message.ts"
import type { ToolOutcome } from "../../protocol/tool.ts"
import { decide } from "../../policy/decide.ts"
import type { Decision, PolicyPlaces } from "../../policy/decide.ts"
import { toolFailureText } from "../../toolkit/error-text.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { boundResult } from "./bound-result.ts"
import type { BoundOptions } from "./bound-result.ts"
import type { Interactions } from "../interactions.ts"
import type { Permissions } from "../permissions.ts"
import type { PreparedCall } from "./prepare.ts"

/** What the door needs of its session. */
export interface DoorOptions extends BoundOptions {
  readonly context: (callId: string, signal: AbortSignal, progress: (text: string) => void) => ToolContext
  readonly permissions: Permissions
  readonly places: PolicyPlaces
  readonly interactions: Interactions
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly events: Channel<AgentEventBody>
}

/** A call that went all the way but for being recorded: its message is stored next, then `end` is told. */
export interface Settled {
  readonly message: ToolMessage
  readonly end: Extract<AgentEventBody, { type: "tool-end" }>
}

/** A tool that does not obey its signal is settled without it after this time; its late answer is dropped. */
const INTERRUPT_GRACE_MS = 3000

/**
 * The one door (law 4). Every call of every origin passes here and settles exactly once, whatever happens: repaired and
 * validated before, now judged, asked about, run and bounded.
 */
export async function passDoor(prepared: PreparedCall, options: DoorOptions): Promise<Settled> {
  const started = options.clock.now()
  options.events.push({
    type: "tool-start",
    call: prepared.shown,
    preview: prepared.kind === "ready" ? options.redact(prepared.parsed.preview) : "",
    access: prepared.kind === "ready" ? prepared.parsed.access : "unknown",
    subjects: prepared.kind === "ready" ? prepared.parsed.subjects : [],
  })
  const outcome = await judgeAndRun(prepared, options)
  const bounded = await boundResult(prepared, outcome.result, options)
  const { result } = outcome
  return {
    message: bounded.message,
    end: {
      type: "tool-end",
      call: prepared.shown,
      outcome: outcome.how,
      durationMs: options.clock.now() - started,
      summary: options.redact(result.summary),
      truncated: bounded.truncated,
      ...(result.exitCode === undefined ? {} : { exitCode: result.exitCode }),
      ...(result.diff === undefined ? {} : { diff: options.redact(result.diff) }),
      ...(result.filesChanged === undefined ? {} : { filesChanged: result.filesChanged }),
      ...(outcome.decision === undefined ? {} : { decision: outcome.decision }),
    },
  }
}

interface Outcome {
  readonly how: ToolOutcome
  readonly result: ToolResult
  readonly decision?: ShownDecision
}

async function judgeAndRun(prepared: PreparedCall, options: DoorOptions): Promise<Outcome> {
  if (options.signal.aborted) return skipped()
  if (prepared.kind === "refused") return { how: "error", result: said(prepared.error) }
  const { parsed } = prepared
  const decision = decide(
    {
      tool: prepared.entry.name,
      access: parsed.access,
      subjects: parsed.subjects,
      paths: await resolvePaths(prepared, options),
      places: options.places,
    },
    options.permissions.rules(),
  )
  const verdict = await verdictOf(prepared, decision, options)
  if (verdict.kind === "refused") return verdict.outcome
  return { ...(await runTool(prepared, options)), decision: verdict.decision }
}

async function resolvePaths(
  prepared: Extract<PreparedCall, { kind: "ready" }>,
  options: DoorOptions,
): Promise<readonly { readonly literal: string; readonly real: string }[]> {
  const { files } = options.workspace
  const paths = prepared.parsed.subjects.flatMap((subject) =>
    subject.kind === "path" ? [files.resolve(subject.path)] : [],
  )
  return await Promise.all(
    paths.map(async (literal) => {
      try {
        return { literal, real: await files.realPath(literal) }
      } catch {
        // Not resolvable (a loop, no permission): the tool will say why; the literal path is judged.
        return { literal, real: literal }
      }
    }),
  )
}

type Verdict =
  | { readonly kind: "go"; readonly decision: ShownDecision }
  | { readonly kind: "refused"; readonly outcome: Outcome }

async function verdictOf(
  prepared: Extract<PreparedCall, { kind: "ready" }>,
  decision: Decision,
  options: DoorOptions,
): Promise<Verdict> {
  if (decision.kind === "allow") {
    return {
      kind: "go",
      decision: { by: decision.layer === "session" ? "rule" : "profile", rule: decision.rule, choice: "allow" },
    }
  }
  if (decision.kind === "deny") {
    return refused("blocked", decision.reason, { by: "rule", rule: decision.rule, choice: "deny" })
  }
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
    return refused("denied", reason, { by: "noninteractive", rule: decision.rule, choice: "deny" })
  }
  const answer = await options.interactions.wait({ id: requestId, kind: "approval", timeoutMs }, options.signal)
  if (answer === "interrupted") {
    answered("deny", "user")
    return { kind: "refused", outcome: interrupted() }
  }
  const choice = answer === "timeout" ? "timeout" : answer.choice
  answered(choice, answer === "timeout" ? "noninteractive" : "user")
  const shown: ShownDecision = { by: answer === "timeout" ? "noninteractive" : "user", rule: decision.rule, choice }
  if (choice === "deny" || choice === "timeout") {
    const why = choice === "deny" ? "the person said no" : "nobody answered in time"
    return refused(
      "denied",
      `Not run: ${why} (${decision.reason}). Do not try it in another form; ask or go on without it.`,
      shown,
    )
  }
  if (choice === "session" || choice === "always") options.permissions.grant(decision.rule)
  return { kind: "go", decision: shown }
}

async function runTool(prepared: Extract<PreparedCall, { kind: "ready" }>, options: DoorOptions): Promise<Outcome> {
  const context = options.context(prepared.call.id, options.signal, (text) => {
    options.events.push({ type: "tool-progress", callId: prepared.call.id, text })
  })
  const work = prepared.parsed.run(context).catch((error: unknown): ToolResult => said(toolFailureText(error)))
  const result = (await orAborted(work, options.signal)) ?? (await graceful(work, options.clock))
  if (result === undefined || options.signal.aborted)
    return { ...interrupted(), ...(result === undefined ? {} : { result }) }
  return { how: failed(result) ? "error" : "ok", result }
}

/** After an interrupt a tool may still tidy up and report; one that hangs is settled for it. */
async function graceful(work: Promise<ToolResult>, clock: Clock): Promise<ToolResult | undefined> {
  const waiting = new AbortController()
  try {
    return await Promise.race([work, clock.sleep(INTERRUPT_GRACE_MS, { signal: waiting.signal }).then(() => undefined)])
  } finally {
    waiting.abort()
  }
}

function failed(result: ToolResult): boolean {
  return "error" in result.content && typeof result.content["error"] === "string"
}

function refused(how: "blocked" | "denied", error: string, decision: ShownDecision): Verdict {
  return {
    kind: "refused",
    outcome: {
      how,
      result: { content: { error, status: "blocked" }, summary: how === "denied" ? "not allowed" : "blocked" },
      decision,
    },
  }
}

function skipped(): Outcome {
  return {
    how: "skipped",
    result: {
      content: { error: "Skipped: the person interrupted before this call was started.", status: "skipped" },
      summary: "skipped",
    },
  }
}

function interrupted(): Outcome {
  return {
    how: "interrupted",
    result: {
      content: { error: "Interrupted by the person while it ran; it may have had effects.", status: "interrupted" },
      summary: "interrupted",
    },
  }
}

function said(error: string): ToolResult {
  return { content: { error }, summary: error }
}
