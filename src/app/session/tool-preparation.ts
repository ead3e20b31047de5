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

export interface ToolPreparation {
  /** A request is on its way: works while the process waits for the model. The signal ends it with the run. */
  readonly awaitReply: (signal: AbortSignal) => void
  /** A call runs: it must not wait for what another call may need. The rest is prepared while the next request is on its way. */
  readonly pause: () => void
}

/**
 * Prepares, once per session, what the first tool call needs: the code of the usual tools, a shell, and whatever the facets open for a
 * call. It works in small steps, and never keeps the process running.
 */
export function createToolPreparation(options: ToolPreparationOptions): ToolPreparation {
  const { log, delayMs = DELAY_MS } = options
  let remaining: Step[] | undefined
  let isWaiting = false
  let timer: NodeJS.Timeout | undefined
  const work = async (signal: AbortSignal): Promise<void> => {
    remaining ??= preparationSteps(options)
    for (;;) {
      await pendingEvents()
      const step = isWaiting && !signal.aborted ? remaining.shift() : undefined
      if (step === undefined) return
      await step(signal)
    }
  }
  return {
    awaitReply: (signal) => {
      clearTimeout(timer)
      if (remaining?.length === 0) return
      isWaiting = true
      timer = setTimeout(() => {
        work(signal).catch((error: unknown) => {
          log.debug(`preparing for tool calls failed: ${errorMessage(error)}`)
        })
      }, delayMs).unref()
    },
    pause: () => {
      isWaiting = false
      clearTimeout(timer)
    },
  }
}

type Step = (signal: AbortSignal) => unknown

function preparationSteps({ dispatch, facets }: ToolPreparationOptions): Step[] {
  const usual = [...dispatch.tools.values()].filter(({ toolset }) => USUAL_TOOLSETS.has(toolset))
  const shells = usual.filter(({ role }) => role === "shell")
  return [
    // First, because a shell starts in another process while this one loads code.
    ...(shells.length > 0 ? [() => dispatch.workspace.prewarm?.()] : []),
    () => import("../../agent/dispatch/batch.ts"),
    // V8 interprets a pattern the first time and compiles it the second time.
    ...shells.flatMap((entry) => [() => judgeSample(entry, dispatch), () => judgeSample(entry, dispatch)]),
    (signal) => facets.awaitingReply(signal),
    ...usual.map((entry) => () => entry.load()),
  ]
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
