import { orAborted } from "../../base/abort.ts"
import { assertNever } from "../../base/assert-never.ts"
import type { Channel } from "../../base/channel.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import type { AgentEventBody, ShownDecision } from "../../protocol/events.ts"
import type { ToolMessage } from "../../protocol/message.ts"
import type { Subject, ToolOutcome } from "../../protocol/tool.ts"
import { decide } from "../../policy/decide.ts"
import type { Decision, PolicyPlaces, PolicyRequest } from "../../policy/decide.ts"
import { toolFailureText } from "../../toolkit/error-text.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { boundResult } from "./bound-result.ts"
import type { BoundOptions } from "./bound-result.ts"
import type { Interactions } from "../interactions.ts"
import type { Permissions } from "../permissions.ts"
import type { PreparedCall } from "./prepare.ts"
import { createProgress } from "./progress.ts"

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

const MAX_PREVIEW_CHARS = 2000
const MAX_SUMMARY_CHARS = 500

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
    preview: prepared.kind === "ready" ? ellipsize(options.redact(prepared.parsed.preview), MAX_PREVIEW_CHARS) : "",
    access: prepared.kind === "ready" ? prepared.parsed.access : "unknown",
    subjects:
      prepared.kind === "ready" ? prepared.parsed.subjects.map((subject) => shownSubject(subject, options)) : [],
  })
  const { outcome, bounded } = await settle(prepared, options)
  const { result } = outcome
  return {
    message: bounded.message,
    end: {
      type: "tool-end",
      call: prepared.shown,
      outcome: outcome.how,
      durationMs: options.clock.now() - started,
      summary: ellipsize(options.redact(result.summary), MAX_SUMMARY_CHARS),
      truncated: bounded.truncated,
      ...(result.exitCode === undefined ? {} : { exitCode: result.exitCode }),
      ...(result.diff === undefined ? {} : { diff: options.redact(result.diff) }),
      ...(result.filesChanged === undefined ? {} : { filesChanged: result.filesChanged }),
      ...(outcome.decision === undefined ? {} : { decision: outcome.decision }),
    },
  }
}

/** A fault of a tool, a plugin or of ours is a result too: the model is told, and the turn goes on. */
async function settle(
  prepared: PreparedCall,
  options: DoorOptions,
): Promise<{ readonly outcome: Outcome; readonly bounded: Awaited<ReturnType<typeof boundResult>> }> {
  try {
    const outcome = await judgeAndRun(prepared, options)
    return { outcome, bounded: await boundResult(prepared, outcome.result, options) }
  } catch (error) {
    const outcome: Outcome = { how: "error", result: said(toolFailureText(error)) }
    return { outcome, bounded: await boundResult(prepared, outcome.result, options) }
  }
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
      ...(await resolvedPaths(prepared, options)),
      places: options.places,
    },
    options.permissions.rules(),
  )
  const verdict = await verdictOf(prepared, decision, options)
  if (verdict.kind === "refused") return verdict.outcome
  return { ...(await runTool(prepared, options)), decision: verdict.decision }
}

/** Everything the policy compares by path, as written and with links resolved. */
async function resolvedPaths(
  prepared: Extract<PreparedCall, { kind: "ready" }>,
  options: DoorOptions,
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
  return {
    paths: await Promise.all(literals.map(async (literal) => ({ literal, real: await real(literal) }))),
    realPlaces: {
      workspaceRoot: await real(workspaceRoot),
      userHome: await real(userHome),
      hermesHome: await real(hermesHome),
      hermesRoot: await real(hermesRoot),
    },
  }
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
    return refused(prepared, "blocked", {
      error: decision.reason,
      decision: { by: "rule", rule: decision.rule, choice: "deny" },
    })
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
    return refused(prepared, "denied", {
      error: reason,
      decision: { by: "noninteractive", rule: decision.rule, choice: "deny" },
    })
  }
  const answer = await options.interactions.wait({ id: requestId, kind: "approval", timeoutMs }, options.signal)
  if (answer === "interrupted") {
    answered("deny", "user")
    return { kind: "refused", outcome: interrupted("Interrupted by the person before it was allowed; it was not run.") }
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

async function runTool(prepared: Extract<PreparedCall, { kind: "ready" }>, options: DoorOptions): Promise<Outcome> {
  const progress = createProgress(prepared.call.id, options.events)
  const context = options.context(prepared.call.id, options.signal, (text) => {
    progress.push(text)
  })
  const work = startTool(prepared, context)
  try {
    const done = await orAborted(work, options.signal)
    if (done !== undefined) return { how: failed(done) ? "error" : "ok", result: done }
    const late = await graceful(work, options.clock)
    const ended = interrupted("Interrupted by the person while it ran; it may have had effects.")
    return late === undefined ? ended : { ...ended, result: late }
  } finally {
    progress.end()
  }
}

/** Never rejects, and never gives anything but a result: a tool may come from a plugin. */
async function startTool(
  prepared: Extract<PreparedCall, { kind: "ready" }>,
  context: ToolContext,
): Promise<ToolResult> {
  try {
    const result: unknown = await prepared.parsed.run(context)
    return isToolResult(result) ? result : said(`${prepared.entry.name} gave no result`)
  } catch (error) {
    return said(toolFailureText(error))
  }
}

function isToolResult(value: unknown): value is ToolResult {
  return isRecord(value) && isRecord(value["content"]) && typeof value["summary"] === "string"
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

/** A command that was not run has the fields of one that was, so that the model reads both the same way. */
function refused(
  prepared: Extract<PreparedCall, { kind: "ready" }>,
  how: "blocked" | "denied",
  why: { readonly error: string; readonly decision: ShownDecision },
): Verdict {
  const isCommand = prepared.parsed.subjects.some((subject) => subject.kind === "command")
  return {
    kind: "refused",
    outcome: {
      how,
      result: {
        content: { ...(isCommand ? { output: "", exit_code: -1 } : {}), error: why.error, status: "blocked" },
        summary: how === "denied" ? "not allowed" : "blocked",
      },
      decision: why.decision,
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

function interrupted(error: string): Outcome {
  return { how: "interrupted", result: { content: { error, status: "interrupted" }, summary: "interrupted" } }
}

function said(error: string): ToolResult {
  return { content: { error }, summary: error }
}
