import { orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord } from "../../base/json.ts"
import { toolFailureText } from "../../toolkit/error-text.ts"
import type { Access, Subject } from "../../protocol/tool.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { createAsk } from "./ask.ts"
import type { AskOptions } from "./ask.ts"
import { errorResult, interruptedOutcome } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import type { ReadyCall } from "./prepare.ts"
import { createProgress } from "./progress.ts"

export interface RunToolOptions extends AskOptions {
  /** What every call of the session is given; the door adds the port for questions where it brings none. */
  readonly context: (callId: string, signal: AbortSignal, progress: (text: string) => void) => ToolContext
  /** Others run beside it. */
  readonly heartbeat?: boolean
  /** Called when a call is about to run; what it gives is called when the call has ended. It must not reject. */
  readonly beforeRun?: (call: StartingCall) => Promise<(() => void) | undefined>
}

/** A call that was allowed and is about to run. */
export interface StartingCall {
  readonly tool: string
  readonly access: Access | "unknown"
  readonly subjects: readonly Subject[]
  /** What people see of it. */
  readonly preview: string
  readonly signal: AbortSignal
}

/** A tool that does not obey its signal is settled without it after this time; its late answer is dropped. */
const INTERRUPT_GRACE_MS = 3000

export async function runTool(prepared: ReadyCall, options: RunToolOptions): Promise<Outcome> {
  const { events, clock, heartbeat = false } = options
  const progress = createProgress(prepared.call.id, { events, clock, heartbeat })
  const { access, subjects, preview } = prepared.parsed
  const ended = await options.beforeRun?.({
    tool: prepared.entry.name,
    access,
    subjects,
    preview,
    signal: options.signal,
  })
  try {
    const context = options.context(prepared.call.id, options.signal, (text) => {
      progress.push(text)
    })
    const work = startTool(prepared, { ...context, ports: { ask: createAsk(options), ...context.ports } })
    const done = await orAborted(work, options.signal)
    if (done !== undefined) return { how: hasError(done) ? "error" : "ok", from: "tool", result: done }
    const late = await graceful(work, clock)
    const interrupted = interruptedOutcome("Interrupted by the person while it ran; it may have had effects.")
    return late === undefined ? interrupted : { ...interrupted, from: "tool", result: late }
  } finally {
    ended?.()
    progress.end()
  }
}

/** Never rejects, and never gives anything but a result: a tool may come from a plugin. */
async function startTool(prepared: ReadyCall, context: ToolContext): Promise<ToolResult> {
  try {
    const result: unknown = await prepared.parsed.run(context)
    return isToolResult(result) ? result : errorResult(`${prepared.entry.name} gave no result`)
  } catch (error) {
    return errorResult(toolFailureText(error))
  }
}

function isToolResult(value: unknown): value is ToolResult {
  return isRecord(value) && isRecord(value["content"]) && typeof value["summary"] === "string"
}

function hasError(result: ToolResult): boolean {
  return "error" in result.content && typeof result.content["error"] === "string"
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
