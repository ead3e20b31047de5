import type { Message } from "../../../protocol/message.ts"
import type { Estimator } from "../token-estimate.ts"
import { beforeToolGroup, lastAnswerIndex, lastUserIndex, pastToolResults } from "../rounds.ts"

export interface Boundaries {
  /** Index of the first message that is summarised. */
  readonly start: number
  /** Index of the first message after the summarised ones. */
  readonly cut: number
  /** The same by size alone: the last user message and the last answer may come before it. */
  readonly sizeCut: number
}

const SOFT_LIMIT = 1.5
const MAX_FLOOR = 8
const MIN_FLOOR = 3

/** Finds the messages that a summary replaces; there are none when `start` is not before the cut. */
export function findBoundaries(
  messages: readonly Message[],
  options: {
    readonly head: number
    readonly protectLastN: number
    readonly tailTokens: number
    readonly estimator: Pick<Estimator, "tailMessage">
  },
): Boundaries {
  const start = pastToolResults(messages, Math.min(options.head, messages.length))
  const sizeCut = Math.max(beforeToolGroup(messages, tailCut(messages, start, options)), start + 1)
  let cut = sizeCut
  const user = lastUserIndex(messages)
  if (user !== -1 && user < cut) cut = user
  const text = lastAnswerIndex(messages)
  if (text !== -1 && text < cut) cut = beforeToolGroup(messages, text)
  return { start, cut: Math.max(cut, start + 1), sizeCut }
}

function tailCut(
  messages: readonly Message[],
  start: number,
  { protectLastN, tailTokens, estimator }: Parameters<typeof findBoundaries>[1],
): number {
  const count = messages.length
  const available = count - start - 1
  const floor =
    available <= 1
      ? 0
      : Math.min(Math.max(MIN_FLOOR, Math.min(protectLastN, MAX_FLOOR)), Math.max(MIN_FLOOR, available - 2), available)
  const size = (index: number): number => {
    const message = messages[index]
    return message === undefined ? 0 : estimator.tailMessage(message)
  }
  let cut = walkBack(count, { start, floor, limit: SOFT_LIMIT * tailTokens, size })
  // Everything fits the soft limit: use the strict one, and keep the message that crosses it.
  if (cut <= start) cut = walkBack(count, { start, floor, limit: tailTokens, size }) - 1
  cut = Math.min(cut, count - floor)
  return cut <= start ? Math.max(count - floor, start + 1) : cut
}

function walkBack(
  count: number,
  walk: {
    readonly start: number
    readonly floor: number
    readonly limit: number
    readonly size: (index: number) => number
  },
): number {
  let cut = count
  let tokens = 0
  for (let index = count - 1; index >= walk.start; index -= 1) {
    tokens += walk.size(index)
    if (tokens > walk.limit && count - cut >= walk.floor) break
    cut = index
  }
  return cut
}
