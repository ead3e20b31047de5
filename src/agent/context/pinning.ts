import type { Message } from "../../protocol/message.ts"
import { toolGroups } from "./draft.ts"
import { lastTextIndex, lastUserIndex } from "./rounds.ts"

export interface Pins {
  /** Neither changed nor removed by the layers without a model. */
  readonly all: ReadonlySet<Message>
  /** Plans: kept word for word by every layer. */
  readonly plans: ReadonlySet<Message>
}

/** What the layers must leave alone: the first messages, summaries, plans, the person's last words and the last answer. */
export function pinsOf(
  messages: readonly Message[],
  { head, planPriority }: { readonly head: number; readonly planPriority: "high" | "normal" },
): Pins {
  const isPlan = (message: Message): boolean =>
    planPriority === "high" && message.role !== "system" && message.compression_priority === "high"
  const plans = withGroups(messages, new Set(messages.filter(isPlan)))
  const single = [messages[lastUserIndex(messages)], messages[lastTextIndex(messages)]]
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
