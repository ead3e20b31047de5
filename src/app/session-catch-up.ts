import type { Conversation } from "../agent/conversation.ts"
import type { Steps } from "../agent/turn.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { Message } from "../protocol/message.ts"
import type { News } from "./session-log.ts"

export interface TakeOverParts {
  readonly conversation: Conversation
  /** What the person has just said: it is answered next, whatever was added behind it. */
  readonly question: Message | undefined
  readonly onRotated: (sessions: { readonly from: SessionId; readonly to: SessionId }) => void
  /** What else follows from the messages. */
  readonly onMessages: () => void
}

/** What another process did to this conversation becomes part of it here too, before anything is added to what is outdated. */
export async function* takeOver(news: News, parts: TakeOverParts): Steps<void> {
  const { conversation } = parts
  const from = conversation.id
  conversation.continueAs(news, withLast(news.messages, parts.question))
  parts.onMessages()
  if (news.id === from) {
    yield { type: "status", kind: "warning", text: wentOn(news.added) }
    return
  }
  parts.onRotated({ from, to: news.id })
  yield { type: "session-rotated", oldSessionId: from, newSessionId: news.id, reason: "compression" }
  const text = `this conversation was shortened in another process and goes on as ${news.id}, here too`
  yield { type: "status", kind: "warning", text }
}

function wentOn(added: number): string {
  if (added <= 0) return "part of this conversation was taken back in another process; it goes on here without it"
  const messages = added === 1 ? "1 message was" : `${added} messages were`
  return `${messages} added to this conversation in another process; it goes on here with all of them`
}

function withLast(messages: readonly Message[], question: Message | undefined): readonly Message[] {
  if (question === undefined) return messages
  const words = JSON.stringify(question.content)
  const place = messages.findLastIndex(({ role, content }) => role === "user" && JSON.stringify(content) === words)
  return [...messages.filter((_message, index) => index !== place), messages[place] ?? question]
}
