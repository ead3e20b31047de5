import { orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord } from "../../base/json.ts"
import { toolFailureText } from "../../toolkit/error-text.ts"
import type { ToolContext, ToolPorts, ToolResult } from "../../toolkit/tool.ts"
import { CallDeniedError } from "../call-denied.ts"
import { createAskPort } from "./ask-user.ts"
import type { StartingCall } from "../facet.ts"
import type { CallRun, DispatchSession } from "./dispatch-session.ts"
import { deniedOutcome, errorResult, interruptedOutcome } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import type { ReadyCall } from "./prepare.ts"
import { createProgress } from "./progress.ts"

/** How long an interrupted tool may take to report before the call settles without it. A later result is dropped. */
const INTERRUPT_GRACE_MS = 3000

export async function runTool(
  prepared: ReadyCall,
  session: DispatchSession,
  run: CallRun &
    Pick<StartingCall, "opened" | "opensInstructions" | "opensGitSettings"> & { readonly ports: Partial<ToolPorts> },
): Promise<Outcome> {
  const { clock } = session
  const { events, signal, heartbeat } = run
  const progress = createProgress(prepared.call.id, { events, clock, heartbeat })
  const { access, subjects, preview } = prepared.parsed
  const { entry } = prepared
  let ended: (() => void) | undefined
  try {
    const askPort = createAskPort(session, run)
    ended = await session.hooks?.toolStarting({
      tool: entry.name,
      entry,
      access,
      subjects,
      preview,
      opened: run.opened,
      ...(run.opensInstructions === undefined ? {} : { opensInstructions: run.opensInstructions }),
      ...(run.opensGitSettings === undefined ? {} : { opensGitSettings: run.opensGitSettings }),
      signal,
      ask: (question) => askPort.ask(question),
      tell: (kind, text) => {
        events.push({ type: "status", kind, text: session.redact(text) })
      },
    })
    const context = session.context(prepared.call.id, signal, (text) => {
      progress.push(text)
    })
    const work = startTool(prepared, {
      ...context,
      ports: { ask: askPort, ...context.ports, ...run.ports },
      emit: (event) => {
        events.push(event)
      },
    })
    const done = await orAborted(work, signal)
    if (done !== undefined) return { how: hasError(done) ? "error" : "ok", from: "tool", result: done }
    const late = await withGracePeriod(work, clock)
    const interrupted = interruptedOutcome("Interrupted by the user while it ran; it may have had effects.")
    return late === undefined ? interrupted : { ...interrupted, from: "tool", result: late }
  } catch (error) {
    if (error instanceof CallDeniedError) return deniedOutcome(error.message, error.rule)
    throw error
  } finally {
    ended?.()
    progress.end()
  }
}

/** Never rejects and always returns a valid result: the tool may come from a plugin. */
async function startTool(prepared: ReadyCall, context: ToolContext): Promise<ToolResult> {
  try {
    const result: unknown = await prepared.parsed.run(context)
    return isToolResult(result) ? result : errorResult(`${prepared.entry.name} returned no result`)
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

/** After an interrupt a tool may still clean up and report. */
async function withGracePeriod(work: Promise<ToolResult>, clock: Clock): Promise<ToolResult | undefined> {
  const waiting = new AbortController()
  try {
    return await Promise.race([work, clock.sleep(INTERRUPT_GRACE_MS, { signal: waiting.signal }).then(() => undefined)])
  } finally {
    waiting.abort()
  }
}
