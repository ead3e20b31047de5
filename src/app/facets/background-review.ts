import type { BilledCall } from "../../agent/journal.ts"
import { runTurn } from "../../agent/loop.ts"
import { createSteering } from "../../agent/steering.ts"
import { buildTurn } from "../../agent/turn.ts"
import type { Message } from "../../protocol/message.ts"
import { openModelClient } from "../services/model-client.ts"
import type { FacetContext } from "../session/facet-context.ts"
import { noInteractions, rememberingTurnParts } from "./restricted-turn.ts"

const MAX_ITERATIONS = 6

const INSTRUCTION =
  "[This is not from the user. Review the conversation: did they correct you, state a preference, or tell you something about " +
  "themselves or their projects that will still be true in a month and is not in memory yet? If so, note it with the memory tool, one " +
  "short fact each; bring outdated entries up to date. If there is nothing of that kind, just say so. Do nothing else.]"

/** Runs a copy of the agent on the finished conversation. It can only change memory and learnings, and asks the user nothing. */
export async function reviewConversation(
  messages: readonly Message[],
  context: FacetContext,
  signal: AbortSignal,
): Promise<void> {
  const opened = await openModelClient(context.options.model, context.services, { maxAttempts: 2, fallbacks: [] })
  if (!opened.ok) return
  const parts = context.session()
  const history: readonly Message[] = [...messages, { role: "user", content: INSTRUCTION, synthetic: "review" }]
  const recordCall = (call: BilledCall): Promise<void> => context.auxiliary.recordCall("background_review", call)
  const turn = buildTurn(rememberingTurnParts(parts, { history, maxIterations: MAX_ITERATIONS, recordCall }), {
    runId: "review",
    model: opened.value,
    interactions: noInteractions(parts),
    steering: createSteering(),
    signal,
  })
  try {
    const steps = runTurn(turn)
    while ((await steps.next()).done !== true);
  } finally {
    opened.value.close()
  }
}
