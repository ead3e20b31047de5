import type { Message } from "../../protocol/message.ts"
import { findSummary } from "./summary/summary-text.ts"

/**
 * The stored messages of one iteration: an assistant message, the results of its calls and the user message directly before it. A
 * user message without a reply is a separate round.
 */
export interface Round {
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

export function roundsOf(messages: readonly Message[]): readonly Round[] {
  const rounds: Round[] = []
  let start = 0
  let answered = false
  for (const [index, message] of messages.entries()) {
    const begins = message.role === "user" || (message.role === "assistant" && (answered || index === 0))
    if (begins && index > start) {
      rounds.push({ start, end: index })
      start = index
    }
    if (begins) answered = false
    if (message.role === "assistant") answered = true
  }
  if (start < messages.length) rounds.push({ start, end: messages.length })
  return rounds
}

/** Index of the last message that the user wrote. */
export function lastUserIndex(messages: readonly Message[]): number {
  return messages.findLastIndex(isFromUser)
}

/** Older versions did not mark summaries as synthetic; `findSummary` recognises them by their beginning. */
export function isFromUser(message: Message): boolean {
  return message.role === "user" && message.synthetic === undefined && findSummary(message)?.rest !== ""
}

/** Index of the last assistant message with text other than a summary. */
export function lastAnswerIndex(messages: readonly Message[]): number {
  return messages.findLastIndex(
    (message) => message.role === "assistant" && hasText(message) && findSummary(message)?.rest !== "",
  )
}

function hasText({ content }: Message): boolean {
  if (content === null) return false
  if (typeof content === "string") return content.trim() !== ""
  return content.some((part) => part.type === "text" && part.text.trim() !== "")
}

/** Moves an index back so that it does not separate a call from its results. */
export function beforeToolGroup(messages: readonly Message[], cut: number): number {
  let index = cut
  while (index > 0 && messages[index]?.role === "tool") index -= 1
  return index
}

/** Moves an index forward past results whose call comes before it. */
export function pastToolResults(messages: readonly Message[], index: number): number {
  let next = index
  while (next < messages.length && messages[next]?.role === "tool") next += 1
  return next
}
