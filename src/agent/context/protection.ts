import type { Message } from "../../protocol/message.ts"
import type { Estimator } from "./estimate.ts"
import { pinsOf } from "./pinning.ts"
import type { Pins } from "./pinning.ts"
import { roundsOf } from "./rounds.ts"
import type { Round } from "./rounds.ts"
import type { CompressionSettings } from "./window-budget.ts"

/** What the layers without a model keep their hands off. */
export interface Protection {
  /** How many first messages are protected. */
  readonly head: number
  /** Where the protected last messages begin. */
  readonly tailStart: number
  readonly pins: Pins
}

/** Whether a round may go as a whole: outside head and tail, and nothing in it is pinned. */
export function isRemovable({ start, end }: Round, messages: readonly Message[], protection: Protection): boolean {
  if (start < protection.head || end > protection.tailStart) return false
  return messages.slice(start, end).every((message) => !protection.pins.all.has(message))
}

const SMALLEST_TAIL = 2
const HEAD_SHARE = 0.25
/** What the notes in place of removed rounds may take. */
const NOTE_SHARE = 0.12

export interface ProtectionOptions {
  readonly settings: CompressionSettings
  readonly small: boolean
  readonly room: number
  readonly estimator: Estimator
}

/**
 * Counts of messages come from the settings. In a small window they may be more than there is room for; then fewer are protected,
 * so that what must go can come from a middle that is large enough for it.
 */
export function protectionOf(messages: readonly Message[], options: ProtectionOptions): Protection {
  const { settings, small } = options
  const head = small ? fittingHead(messages, options) : Math.min(settings.protectFirstN, messages.length)
  const tailStart = Math.max(0, messages.length - settings.protectLastN)
  const protection = { head, tailStart, pins: pinsOf(messages, { head, planPriority: settings.planPriority }) }
  return small ? { ...protection, tailStart: fittingTail(messages, protection, options) } : protection
}

function fittingHead(messages: readonly Message[], { settings, room, estimator }: ProtectionOptions): number {
  let head = Math.min(settings.protectFirstN, messages.length)
  while (head > 1 && estimator.messages(messages.slice(0, head)) > HEAD_SHARE * room) head -= 1
  return head
}

/** Lets the tail begin later until there is enough before it. */
function fittingTail(
  messages: readonly Message[],
  protection: Protection,
  { settings, room, estimator }: ProtectionOptions,
): number {
  const size = (start: number, end: number): number => estimator.messages(messages.slice(start, end))
  const mustGo = size(0, messages.length) - room * (1 - NOTE_SHARE)
  const last = Math.max(protection.tailStart, messages.length - SMALLEST_TAIL)
  let { tailStart } = protection
  let removable = 0
  let middle = size(protection.head, tailStart)
  for (const round of roundsOf(messages)) {
    const enough = removable >= mustGo && settings.hardTruncateMaxLoss * middle >= mustGo
    if (round.end > tailStart && enough) break
    const next = Math.min(Math.max(tailStart, round.end), last)
    middle += size(tailStart, next)
    tailStart = next
    if (isRemovable(round, messages, { ...protection, tailStart })) removable += size(round.start, round.end)
  }
  return tailStart
}
