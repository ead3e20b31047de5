import type { AssistantMessage, Message, Part, UserMessage } from "../../../protocol/message.ts"

export interface InsertedSummary {
  readonly messages: readonly Message[]
  /** The message that contains the summary, when it could not be a separate message. */
  readonly merged?: { readonly carrier: Message; readonly from: Message }
}

/**
 * Inserts the summary between head and rest, in the role that keeps user and assistant messages alternating. Where neither role
 * does, it is put before the text of the following message.
 */
export function insertSummary(head: readonly Message[], summary: string, rest: readonly Message[]): InsertedSummary {
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
