import type { Message } from "../../../protocol/message.ts"
import { replaceDraftMessages } from "../history-draft.ts"
import type { HistoryDraft } from "../history-draft.ts"
import type { Estimator } from "../token-estimate.ts"
import { elisionOf, userText, withoutElisionNote } from "../elision-note.ts"
import { repairOrder } from "../../history-repair.ts"
import { withoutImages } from "../microcompact.ts"
import type { PinnedMessages } from "../pinned-messages.ts"
import { isFromUser, lastAnswerIndex, lastUserIndex, pastToolResults, roundsOf } from "../rounds.ts"
import { withWholePairs } from "../tool-pairs.ts"
import type { WindowBudget } from "../window-budget.ts"
import { findBoundaries } from "./boundaries.ts"
import { insertSummary } from "./insert-summary.ts"
import { mergeWords } from "../user-words.ts"
import type { UserWords } from "../user-words.ts"
import { findSummary, splitWords, withoutSummary } from "./summary-text.ts"

/** The messages that a summary replaces, and those that stay. */
export interface SummaryRegion {
  readonly head: readonly Message[]
  /** What follows the summary: rounds that stay although they are before the tail, then the tail. */
  readonly kept: readonly Message[]
  readonly removed: readonly Message[]
  /** The removed messages without an earlier summary: what the new summary must cover. */
  readonly turns: readonly Message[]
  /** The text of the earlier summary. */
  readonly previous: string | undefined
  /** The words of the user in the removed messages, in earlier elision notes and in the earlier summary. */
  readonly words: UserWords
  /** Messages that stay without the summary they contained: new form → former form. */
  readonly changed: ReadonlyMap<Message, Message>
}

export interface RegionOptions {
  readonly head: number
  readonly protectLastN: number
  readonly pins: PinnedMessages
  readonly budget: WindowBudget
  readonly room: number
  readonly estimator: Estimator
  /** The tail is this many exchanges, instead of what fits. */
  readonly keepExchanges?: number
  /** Expected size of the summary. */
  readonly summaryTokens: number
}

const MIN_SUMMARISED = 4

/**
 * Chooses the messages between head and tail. Normally the tail starts at the last user message or the last answer. In a long run
 * of tool calls that leaves too little to summarise; then the tail is chosen by size, and the rounds of those two messages follow
 * the summary separately. In a small window even that may be too long; then only the last messages form the tail.
 */
export function chooseRegion(draft: HistoryDraft, options: RegionOptions): SummaryRegion | undefined {
  const { messages } = draft
  if (options.keepExchanges !== undefined) return regionBefore(messages, options.keepExchanges, options)
  if (messages.length <= options.head + MIN_SUMMARISED) return undefined
  const { start, cut, sizeCut } = findBoundaries(messages, { ...options, tailTokens: options.budget.tail })
  const tight = findBoundaries(messages, { ...options, protectLastN: 0, tailTokens: 0 })
  const regions = [cut, sizeCut, ...(options.budget.small ? [tight.sizeCut] : [])]
    .map((end) => regionOf(messages, { start, end: pastToolResults(messages, end), pins: options.pins }))
    .filter((region) => region.removed.length > 0 && region.kept.length > 0)
  const size = ({ head, kept }: SummaryRegion): number =>
    options.estimator.messages([...head, ...kept]) + options.summaryTokens
  return regions.find((region) => size(region) <= options.room) ?? regions.toSorted((a, b) => size(a) - size(b))[0]
}

/** Everything between the head and the last exchanges. An exchange starts with a message that the user wrote. */
function regionBefore(
  messages: readonly Message[],
  keep: number,
  { head, pins }: Pick<RegionOptions, "head" | "pins">,
): SummaryRegion | undefined {
  const exchanges = messages.flatMap((message, index) => (isFromUser(message) ? [index] : []))
  const end = exchanges.at(-keep) ?? 0
  const start = pastToolResults(messages, Math.min(head, messages.length))
  if (end <= start) return undefined
  const region = regionOf(messages, { start, end, pins })
  return region.removed.length === 0 ? undefined : region
}

function regionOf(
  messages: readonly Message[],
  { start, end, pins }: { readonly start: number; readonly end: number; readonly pins: PinnedMessages },
): SummaryRegion {
  const middle = messages.slice(start, end)
  const staying = new Set([...pins.plans, messages[lastUserIndex(messages)], messages[lastAnswerIndex(messages)]])
  const changed = new Map<Message, Message>()
  const strip = (part: readonly Message[], remove: (message: Message) => Message | undefined): readonly Message[] =>
    part.flatMap((message) => {
      const plain = remove(message)
      if (plain === undefined) return []
      if (plain !== message) changed.set(plain, changed.get(message) ?? message)
      return [plain]
    })
  const kept: Message[] = []
  const removed: Message[] = []
  const earlier = splitWords(
    messages.map((message) => findSummary(message)?.body).findLast((body) => body !== undefined) ?? "",
  )
  let { words } = earlier
  for (const round of roundsOf(middle)) {
    const part = middle.slice(round.start, round.end)
    const stays = part.some((message) => staying.has(message))
    for (const message of part) words = mergeWords(words, stays ? elisionOf(message).words : wordsOf(message))
    if (stays) {
      // The summary replaces earlier elision notes.
      kept.push(...strip(part, stripElisionNote))
      removed.push(...part.filter((message) => stripElisionNote(message) === undefined))
    } else {
      removed.push(...part)
    }
  }
  return {
    head: strip(messages.slice(0, start), stripSummary),
    kept: strip([...kept, ...messages.slice(end)], stripSummary),
    removed,
    turns: strip(removed, stripSummary),
    previous: earlier.body === "" ? undefined : earlier.body,
    words,
    changed,
  }
}

/** The words of the user in a message, and those in the elision note before it. */
function wordsOf(message: Message): UserWords {
  const noted = elisionOf(message).words
  if (message.role !== "user" || !isFromUser(message)) return noted
  const text = userText({ ...message, content: findSummary(message)?.rest ?? message.content })
  return text === "" ? noted : mergeWords(noted, { said: [text], listed: [] })
}

function stripSummary(message: Message): Message | undefined {
  return message.role === "user" || message.role === "assistant" ? withoutSummary(message) : message
}

function stripElisionNote(message: Message): Message | undefined {
  return message.role === "user" ? withoutElisionNote(message) : message
}

/** Joins head, summary and kept messages to a history that every wire accepts. Only the newest image stays. */
export function assembleHistory(draft: HistoryDraft, region: SummaryRegion, summary: string): HistoryDraft {
  const inserted = insertSummary(region.head, summary, separated(region.kept))
  const changed = new Map(region.changed)
  if (inserted.merged !== undefined) {
    const { carrier, from } = inserted.merged
    changed.set(carrier, region.changed.get(from) ?? from)
  }
  const whole = repairOrder(withWholePairs(inserted.messages))
  const newestImage = whole.findLastIndex((message) => message.role === "user" && withoutImages(message) !== message)
  const light = whole.map((message, index) => {
    if (index >= newestImage || message.role === "system") return message
    const plain = withoutImages(message)
    if (plain !== message) changed.set(plain, changed.get(message) ?? message)
    return plain
  })
  return replaceDraftMessages(draft, light, changed)
}

const BETWEEN = "[Rounds between these two replies are part of the summary above.]"

/** Inserts a user message between consecutive assistant messages, which would be invalid. */
function separated(messages: readonly Message[]): readonly Message[] {
  return messages.flatMap((message, index): readonly Message[] =>
    message.role === "assistant" && messages[index - 1]?.role === "assistant"
      ? [{ role: "user", content: BETWEEN, synthetic: "elision" }, message]
      : [message],
  )
}
