import type { DispatchSession } from "../../agent/dispatch/dispatch-session.ts"
import type { BilledCall } from "../../agent/journal.ts"
import { runTurn } from "../../agent/loop.ts"
import { createSteering } from "../../agent/steering.ts"
import { buildTurn } from "../../agent/turn.ts"
import type { ToolEnd } from "../../protocol/events.ts"
import type { Message } from "../../protocol/message.ts"
import { openModelClient } from "../services/model-client.ts"
import type { FacetContext } from "../session/facet-context.ts"
import { noInteractions, rememberingTurnParts } from "./restricted-turn.ts"

const MAX_ITERATIONS = 6

export interface BackgroundTurn {
  readonly runId: string
  /** The finished conversation. */
  readonly messages: readonly Message[]
  readonly instruction: string
  /** By default the one with the memory tools. */
  readonly dispatch?: DispatchSession
}

/** A call that a background turn has made. */
export interface BackgroundCall {
  readonly end: ToolEnd
  /** What the call was about, in one line. */
  readonly preview: string
}

/** Runs a copy of the agent on the finished conversation. It asks the user nothing, and its messages are not kept. Returns its calls. */
export async function runBackgroundTurn(
  { runId, messages, instruction, dispatch }: BackgroundTurn,
  context: FacetContext,
  signal: AbortSignal,
): Promise<readonly BackgroundCall[]> {
  const opened = await openModelClient(context.options.model, context.services, { maxAttempts: 2, fallbacks: [] })
  if (!opened.ok) return []
  const parts = context.session()
  const history: readonly Message[] = [...messages, { role: "user", content: instruction, synthetic: "review" }]
  const recordCall = (call: BilledCall): Promise<void> => context.auxiliary.recordCall("background_review", call)
  const turn = buildTurn(
    rememberingTurnParts(parts, {
      history,
      maxIterations: MAX_ITERATIONS,
      recordCall,
      ...(dispatch === undefined ? {} : { dispatch }),
    }),
    {
      runId,
      model: opened.value,
      interactions: noInteractions(parts),
      steering: createSteering(),
      signal,
    },
  )
  const previews = new Map<string, string>()
  const calls: BackgroundCall[] = []
  try {
    for await (const event of runTurn(turn)) {
      if (event.type === "tool-start") previews.set(event.call.id, event.preview)
      if (event.type === "tool-end") calls.push({ end: event, preview: previews.get(event.call.id) ?? "" })
    }
  } finally {
    opened.value.close()
  }
  return calls
}
