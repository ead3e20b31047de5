import type { Message, Part, UserMessage } from "../../protocol/message.ts"
import type { TodoItem } from "../../toolkit/ports/todo.ts"

/**
 * Appends the unfinished items of the task list, so that a compression does not lose them, and removes the list that an earlier
 * compression appended.
 */
export function withTodoList(messages: readonly Message[], items: readonly TodoItem[]): readonly Message[] {
  const current = withoutOldLists(messages)
  const unfinished = items.filter(({ status }) => status === "pending" || status === "in_progress")
  if (unfinished.length === 0) return current
  const text = [OPENING, ...unfinished.map(todoLine)].join("\n")
  const last = current.at(-1)
  if (last?.role !== "user") return [...current, { role: "user", content: text, synthetic: "todo" }]
  return [...current.slice(0, -1), withText(last, text)]
}

const OPENING = "[Your task list survived the compression of the context. Still unfinished:]"

function todoLine({ id, content, status }: TodoItem): string {
  return `- [${status === "in_progress" ? ">" : " "}] ${id}. ${content.replaceAll(/\s*\n\s*/g, " ")} (${status})`
}

function withText(message: UserMessage, text: string): UserMessage {
  return {
    ...message,
    content:
      typeof message.content === "string"
        ? `${message.content}\n\n${text}`
        : [...message.content, { type: "text", text }],
  }
}

function withoutOldLists(messages: readonly Message[]): readonly Message[] {
  if (!messages.some((message) => message.role === "user" && containsList(message.content))) return messages
  return messages.flatMap((message, index) => {
    if (message.role !== "user" || !containsList(message.content)) return [message]
    // Elsewhere the message separates two assistant messages and must stay.
    if (message.synthetic === "todo") return messages[index - 1]?.role === "tool" ? [] : [message]
    return [{ ...message, content: withoutList(message.content) }]
  })
}

function containsList(content: string | readonly Part[]): boolean {
  return typeof content === "string"
    ? content.includes(OPENING)
    : content.some((part) => part.type === "text" && part.text.startsWith(OPENING))
}

function withoutList(content: string | readonly Part[]): string | readonly Part[] {
  if (typeof content !== "string") {
    return content.filter((part) => part.type !== "text" || !part.text.startsWith(OPENING))
  }
  const start = content.lastIndexOf(`\n\n${OPENING}`)
  return start === -1 ? content : content.slice(0, start)
}
