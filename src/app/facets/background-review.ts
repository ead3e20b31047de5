import type { Message } from "../../protocol/message.ts"
import type { FacetContext } from "../session/facet-context.ts"
import { runBackgroundTurn } from "./background-turn.ts"

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
  await runBackgroundTurn({ runId: "review", messages, instruction: INSTRUCTION }, context, signal)
}
