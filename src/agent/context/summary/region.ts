import type { Message } from "../../../protocol/message.ts"
import { rearrange } from "../draft.ts"
import type { Draft } from "../draft.ts"
import type { Estimator } from "../estimate.ts"
import { withoutNote } from "../elision-note.ts"
import { repairSequence } from "../../history.ts"
import { withoutImages } from "../microcompact.ts"
import type { Pins } from "../pinning.ts"
import { isFromPerson, lastTextIndex, lastUserIndex, pastToolResults, roundsOf } from "../rounds.ts"
import { withWholePairs } from "../tool-pairs.ts"
import type { WindowBudget } from "../window-budget.ts"
import { findBoundaries } from "./boundaries.ts"
import { placeSummary } from "./placement.ts"
import { findSummary, withoutSummary } from "./summary-text.ts"

/** What a summary replaces, and what stays around it. */
export interface Region {
  readonly head: readonly Message[]
  /** Everything that stays behind the summary: kept rounds of the middle, then the tail. */
  readonly rest: readonly Message[]
  /** Messages that go. */
  readonly doomed: readonly Message[]
  /** What the summary has to cover: the doomed ones without an earlier summary. */
  readonly turns: readonly Message[]
  readonly previous: string | undefined
  /** Messages that stay without the summary they carried: new form to old. */
  readonly changed: ReadonlyMap<Message, Message>
}

export interface RegionOptions {
  readonly head: number
  readonly protectLastN: number
  readonly pins: Pins
  readonly budget: WindowBudget
  readonly room: number
  readonly estimator: Estimator
  /** The tail is what the person asked to keep, not what fits. */
  readonly keepExchanges?: number
  /** What the summary itself will take. */
  readonly summaryTokens: number
}

const FEWEST_SUMMARISED = 4

/**
 * The messages between head and tail. The tail reaches back to the person's last words and the last answer; in a long run of tool
 * calls that would leave nothing to summarise, so where it does not suffice the cut is made by size, and those two stay as single
 * rounds behind the summary. In a small window even that tail may be too long; then only the very last messages are left of it.
 */
export function chooseRegion(draft: Draft, options: RegionOptions): Region | undefined {
  const { messages } = draft
  if (options.keepExchanges !== undefined) return regionBefore(messages, options.keepExchanges, options)
  if (messages.length <= options.head + FEWEST_SUMMARISED) return undefined
  const { start, cut, sizeCut } = findBoundaries(messages, { ...options, tailTokens: options.budget.tail })
  const tight = findBoundaries(messages, { ...options, protectLastN: 0, tailTokens: 0 })
  const regions = [cut, sizeCut, ...(options.budget.small ? [tight.sizeCut] : [])]
    .map((end) => regionOf(messages, { start, end: pastToolResults(messages, end), pins: options.pins }))
    .filter((region) => region.doomed.length > 0 && region.rest.length > 0)
  const size = ({ head, rest }: Region): number =>
    options.estimator.messages([...head, ...rest]) + options.summaryTokens
  return regions.find((region) => size(region) <= options.room) ?? regions.toSorted((a, b) => size(a) - size(b))[0]
}

/** Everything between the head and the last exchanges, each of which begins with words of the person. */
function regionBefore(
  messages: readonly Message[],
  keep: number,
  { head, pins }: Pick<RegionOptions, "head" | "pins">,
): Region | undefined {
  const questions = messages.flatMap((message, index) => (isFromPerson(message) ? [index] : []))
  const end = questions.at(-keep) ?? 0
  const start = pastToolResults(messages, Math.min(head, messages.length))
  if (end <= start) return undefined
  const region = regionOf(messages, { start, end, pins })
  return region.doomed.length === 0 ? undefined : region
}

function regionOf(
  messages: readonly Message[],
  { start, end, pins }: { readonly start: number; readonly end: number; readonly pins: Pins },
): Region {
  const middle = messages.slice(start, end)
  const stays = new Set([...pins.plans, messages[lastUserIndex(messages)], messages[lastTextIndex(messages)]])
  const changed = new Map<Message, Message>()
  const strip = (part: readonly Message[], how: (message: Message) => Message | undefined): readonly Message[] =>
    part.flatMap((message) => {
      const plain = how(message)
      if (plain === undefined) return []
      if (plain !== message) changed.set(plain, changed.get(message) ?? message)
      return [plain]
    })
  const kept: Message[] = []
  const doomed: Message[] = []
  for (const round of roundsOf(middle)) {
    const part = middle.slice(round.start, round.end)
    if (part.some((message) => stays.has(message))) {
      // The summary takes the place of the notes about what was left out before.
      kept.push(...strip(part, plainWords))
      doomed.push(...part.filter((message) => plainWords(message) === undefined))
    } else {
      doomed.push(...part)
    }
  }
  return {
    head: strip(messages.slice(0, start), ownWords),
    rest: strip([...kept, ...messages.slice(end)], ownWords),
    doomed,
    turns: strip(doomed, ownWords),
    previous: messages.map((message) => findSummary(message)?.body).findLast((body) => body !== undefined),
    changed,
  }
}

function ownWords(message: Message): Message | undefined {
  return message.role === "user" || message.role === "assistant" ? withoutSummary(message) : message
}

function plainWords(message: Message): Message | undefined {
  return message.role === "user" ? withoutNote(message) : message
}

/** Head, summary and rest as one history that every wire takes. */
export function assemble(draft: Draft, region: Region, summary: string): Draft {
  const rest = separated(region.rest)
  const placed = placeSummary(region.head, summary, rest)
  const changed = new Map(region.changed)
  if (placed.merged !== undefined) {
    const { carrier, from } = placed.merged
    changed.set(carrier, region.changed.get(from) ?? from)
  }
  const whole = repairSequence(withWholePairs(placed.messages)).messages
  const newestPicture = whole.findLastIndex((message) => message.role === "user" && withoutImages(message) !== message)
  const light = whole.map((message, index) => {
    if (index >= newestPicture || message.role === "system") return message
    const plain = withoutImages(message)
    if (plain !== message) changed.set(plain, changed.get(message) ?? message)
    return plain
  })
  return rearrange(draft, light, changed)
}

const BETWEEN = "[Rounds between these two replies are part of the summary above.]"

/** Two replies side by side would not be valid; a sentence of ours stands between them. */
function separated(messages: readonly Message[]): readonly Message[] {
  return messages.flatMap((message, index): readonly Message[] =>
    message.role === "assistant" && messages[index - 1]?.role === "assistant"
      ? [{ role: "user", content: BETWEEN, synthetic: "elision" }, message]
      : [message],
  )
}
