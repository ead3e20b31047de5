import type { Message } from "../../protocol/message.ts"
import { toolGroups } from "./history-draft.ts"
import { lastAnswerIndex, lastUserIndex } from "./rounds.ts"

export interface PinnedMessages {
  /** Layers 1 to 4 neither change nor remove these. */
  readonly all: ReadonlySet<Message>
  /** Plans, which every layer keeps unchanged. */
  readonly plans: ReadonlySet<Message>
}

/** Finds the messages to keep: the head, summaries, plans, the last user message and the last answer. */
export function findPinnedMessages(
  messages: readonly Message[],
  { head, planPriority }: { readonly head: number; readonly planPriority: "high" | "normal" },
): PinnedMessages {
  const isPlan = (message: Message): boolean =>
    planPriority === "high" && message.role !== "system" && message.compression_priority === "high"
  const plans = withGroups(messages, new Set(messages.filter(isPlan)))
  const single = [messages[lastUserIndex(messages)], messages[lastAnswerIndex(messages)]]
  const all = new Set([
    ...messages.slice(0, head),
    ...messages.filter((message) => message.role !== "system" && message.compressed_summary === true),
    ...single.filter((message) => message !== undefined),
  ])
  return { all: new Set([...withGroups(messages, all), ...plans]), plans }
}

/** Pinning one message of a tool group pins the group. */
function withGroups(messages: readonly Message[], pinned: ReadonlySet<Message>): Set<Message> {
  const whole = new Set(pinned)
  for (const { assistant, results } of toolGroups(messages)) {
    const group = [assistant, ...results]
    if (group.some((message) => pinned.has(message))) for (const message of group) whole.add(message)
  }
  return whole
}
