import type { AssistantMessage, Message, Part, UserMessage } from "../../../protocol/message.ts"

export interface Placed {
  readonly messages: readonly Message[]
  /** The message that has taken the summary up, when it could not stand on its own. */
  readonly merged?: { readonly carrier: Message; readonly from: Message }
}

/**
 * Puts the summary between the first messages and the rest, in the role that keeps user and assistant taking turns. Where neither
 * role does, it goes before the text of the message that follows.
 */
export function placeSummary(head: readonly Message[], summary: string, rest: readonly Message[]): Placed {
  const role = freeRole(head.at(-1)?.role, rest[0]?.role)
  const [first, ...others] = rest
  if (role === undefined && (first?.role === "user" || first?.role === "assistant")) {
    const carrier = withSummary(first, summary)
    return { messages: [...head, carrier, ...others], merged: { carrier, from: first } }
  }
  const message: Message =
    role === "assistant"
      ? { role, content: summary, compressed_summary: true }
      : { role: "user", content: summary, compressed_summary: true, synthetic: "summary" }
  return { messages: [...head, message, ...rest] }
}

type Role = Message["role"] | undefined

function freeRole(before: Role, after: Role): "user" | "assistant" | undefined {
  const wanted = before === "assistant" || before === "tool" ? "user" : "assistant"
  if (wanted !== after) return wanted
  const other = wanted === "user" ? "assistant" : "user"
  return other === before ? undefined : other
}

function withSummary(message: UserMessage | AssistantMessage, summary: string): UserMessage | AssistantMessage {
  if (message.role === "user") {
    return { ...message, content: before(summary, message.content), compressed_summary: true }
  }
  const content = message.content === null || message.content === "" ? summary : before(summary, message.content)
  return { ...message, content, compressed_summary: true }
}

function before(summary: string, content: string | readonly Part[]): string | readonly Part[] {
  return typeof content === "string" ? `${summary}\n\n${content}` : [{ type: "text", text: summary }, ...content]
}
