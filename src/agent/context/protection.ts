import type { AssistantMessage, Message } from "../../protocol/message.ts"
import type { Estimator } from "./token-estimate.ts"
import { findPinnedMessages } from "./pinned-messages.ts"
import type { PinnedMessages } from "./pinned-messages.ts"
import { beforeToolGroup, roundsOf } from "./rounds.ts"
import type { Round } from "./rounds.ts"
import type { CompressionSettings } from "./window-budget.ts"

/** The messages that layers 1 to 4 leave alone. */
export interface Protection {
  /** How many first messages are protected. */
  readonly head: number
  /** Index of the first protected message at the end. */
  readonly tailStart: number
  readonly pins: PinnedMessages
}

/** Whether a round lies outside head and tail and contains no pinned message. */
function isRemovable({ start, end }: Round, messages: readonly Message[], protection: Protection): boolean {
  if (start < protection.head || end > protection.tailStart) return false
  return messages.slice(start, end).every((message) => !protection.pins.all.has(message))
}

/** Separates two user messages when the reply between them was removed. */
export const REPLY_LEFT_OUT: AssistantMessage = {
  role: "assistant",
  content: "[This reply is left out to save space.]",
}

/**
 * The rounds that may be removed. Where only the user message of a round is protected, the rest of the round may go: in a long task
 * the first round would otherwise stay forever.
 */
export function removableRounds(messages: readonly Message[], protection: Protection): readonly Round[] {
  return roundsOf(messages).flatMap((round) => {
    if (isRemovable(round, messages, protection)) return [round]
    const reply = { start: round.start + 1, end: round.end }
    const first = messages[round.start]
    if (first?.role !== "user" || first.compressed_summary === true) return []
    const hasReply = reply.start < reply.end && messages[reply.start]?.content !== REPLY_LEFT_OUT.content
    return hasReply && isRemovable(reply, messages, protection) ? [reply] : []
  })
}

const SMALLEST_TAIL = 2
const HEAD_SHARE = 0.25
/** Share of the room for the notes that replace removed rounds. */
const NOTE_SHARE = 0.12

export interface ProtectionOptions {
  readonly settings: CompressionSettings
  readonly small: boolean
  readonly room: number
  readonly estimator: Estimator
}

/**
 * The settings specify the number of protected messages. In a small window that may leave too few messages to remove, so fewer are
 * protected there.
 */
export function protectionOf(messages: readonly Message[], options: ProtectionOptions): Protection {
  const { settings, small } = options
  const head = small ? fittingHead(messages, options) : Math.min(settings.protectFirstN, messages.length)
  const tailStart = Math.max(0, messages.length - settings.protectLastN)
  const protection = {
    head,
    tailStart,
    pins: findPinnedMessages(messages, { head, planPriority: settings.planPriority }),
  }
  return small ? { ...protection, tailStart: fittingTail(messages, protection, options) } : protection
}

function fittingHead(messages: readonly Message[], { settings, room, estimator }: ProtectionOptions): number {
  let head = Math.min(settings.protectFirstN, messages.length)
  while (head > 1 && estimator.messages(messages.slice(0, head)) > HEAD_SHARE * room) head -= 1
  // A protected call would keep its results, however long.
  return Math.max(1, beforeToolGroup(messages, head))
}

/** Moves the start of the tail forward until enough removable messages precede it. */
function fittingTail(
  messages: readonly Message[],
  protection: Protection,
  { room, estimator }: ProtectionOptions,
): number {
  const size = (start: number, end: number): number => estimator.messages(messages.slice(start, end))
  const mustGo = size(0, messages.length) - room * (1 - NOTE_SHARE)
  const last = Math.max(protection.tailStart, messages.length - SMALLEST_TAIL)
  let { tailStart } = protection
  let removable = 0
  for (const round of removableRounds(messages, { ...protection, tailStart: last })) {
    if (round.end > tailStart && removable >= mustGo) break
    tailStart = Math.min(Math.max(tailStart, round.end), last)
    removable += size(round.start, round.end)
  }
  return tailStart
}
