import type { DispatchSession } from "../../agent/dispatch/dispatch-session.ts"
import type { Facets } from "../../agent/facets.ts"
import type { Logger } from "../../base/logger.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"

/** By then the request has been sent. A reply that arrives earlier finds nothing prepared, and a run that ends earlier pays for nothing. */
const DELAY_MS = 20

/** The toolsets that most first calls belong to. */
const USUAL_TOOLSETS: ReadonlySet<string> = new Set(["terminal", "file"])

export interface ToolPreparationOptions {
  readonly dispatch: DispatchSession
  readonly facets: Pick<Facets, "awaitingReply">
  readonly log: Logger
  readonly delayMs?: number
}

/**
 * Returns a function that prepares, once per session, what the first tool call needs: the code of the usual tools, a shell, and whatever
 * the facets open for a call. Call it when a request is sent; the signal ends it with the run. It works in small steps while the
 * process waits for the model, and never keeps the process running.
 */
export function createToolPreparation(options: ToolPreparationOptions): (signal: AbortSignal) => void {
  let hasBegun = false
  return (signal) => {
    if (hasBegun) return
    const timer = setTimeout(() => {
      hasBegun = true
      prepareTools(options, signal).catch((error: unknown) => {
        options.log.debug(`preparing for tool calls failed: ${errorMessage(error)}`)
      })
    }, options.delayMs ?? DELAY_MS).unref()
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer)
      },
      { once: true },
    )
  }
}

async function prepareTools({ dispatch, facets }: ToolPreparationOptions, signal: AbortSignal): Promise<void> {
  const usual = [...dispatch.tools.values()].filter(({ toolset }) => USUAL_TOOLSETS.has(toolset))
  const shells = usual.filter(({ role }) => role === "shell")
  const steps = [
    // First, because a shell starts in another process while this one loads code.
    ...(shells.length > 0 ? [() => dispatch.workspace.prewarm?.()] : []),
    () => import("../../agent/dispatch/batch.ts"),
    ...usual.map((entry) => () => entry.load()),
    // V8 interprets a pattern the first time and compiles it the second time.
    ...shells.flatMap((entry) => [() => judgeSample(entry, dispatch), () => judgeSample(entry, dispatch)]),
    () => facets.awaitingReply(signal),
  ]
  for (const step of steps) {
    await pendingEvents()
    if (signal.aborted) return
    await step()
  }
}

function pendingEvents(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setImmediate(resolve)
  return promise
}

/** Judges a command without running it, which loads the policy and compiles its patterns. */
async function judgeSample(entry: ToolEntry, dispatch: DispatchSession): Promise<void> {
  const { judgedCall } = await import("../../agent/dispatch/policy-request.ts")
  const parsed = (await entry.load()).parse({ command: "true" })
  if (parsed.ok) await judgedCall({ entry, parsed: parsed.value }, dispatch)
}
