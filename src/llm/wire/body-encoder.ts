import type { Message } from "../../protocol/message.ts"
import { requestBody } from "../http/request-body.ts"
import type { RequestBody } from "../http/request-body.ts"
import { AppendOnlyBytes } from "./append-only-bytes.ts"
import { roundEnd, startsRound } from "./rounds.ts"
import type { EncodedRequest, HistoryEncoding } from "./wire.ts"

/**
 * Turns requests into bytes. The bytes of all rounds but the last ones are kept, so a request costs the same however long the
 * conversation is: each message is encoded once, and its bytes are sent from where they are.
 *
 * The messages of a request are compared with the stored ones by identity. What differs (after a compression, an undo, for another model) is
 * encoded again. A single request with another history, such as one for a title, does not discard what is stored.
 */
export function createBodyEncoder(): (request: EncodedRequest) => RequestBody {
  const stored = new StoredRounds()
  let isOtherHistory = false
  return ({ head, preface, history }) => {
    const known = stored.countMatching(history)
    const diverges = known < stored.count
    const stores = !diverges || isOtherHistory
    isOtherHistory = diverges && !stores
    if (stores) stored.truncate(known)
    const { messages } = history
    const rest: string[] = []
    let from = stored.messagesIn(known)
    do {
      const to = roundEnd(messages, from)
      const text = history.encode(from, to)
      const elements = text === "" ? "" : `,${text}`
      if (stores && rest.length === 0 && isSettled(history, to)) stored.append(history, { from, to, elements })
      else rest.push(elements)
      from = to
    } while (from < messages.length)
    const old = stored.bytesOf(stores ? stored.count : known)
    const opening = `${head}${preface}`
    const closing = `${rest.join("")}]}`
    if (preface !== "") return requestBody([Buffer.from(opening), ...old, Buffer.from(closing)])
    // The first element has no comma before it.
    const [first, ...others] = old
    return first === undefined
      ? requestBody([Buffer.from(opening + closing.replace(/^,/, ""))])
      : requestBody([Buffer.from(opening), first.subarray(1), ...others, Buffer.from(closing)])
  }
}

/** Whether the round that ends here has the same bytes in all later requests. */
function isSettled({ messages, settled }: HistoryEncoding, end: number): boolean {
  return end <= settled && startsRound(messages, end)
}

interface StoredRound {
  /** Index after its last message. */
  readonly end: number
  /** Offset after its last byte. */
  readonly endByte: number
  readonly variant: number
}

class StoredRounds {
  readonly #bytes = new AppendOnlyBytes()
  readonly #messages: Message[] = []
  readonly #rounds: StoredRound[] = []
  #format = ""

  get count(): number {
    return this.#rounds.length
  }

  /** The number of stored rounds with which this history begins. */
  countMatching(history: HistoryEncoding): number {
    if (history.format !== this.#format) return 0
    const { messages, settled } = history
    const same = this.#sameMessages(messages)
    const hasVariants = history.variant !== undefined
    let from = 0
    // Runs over the whole conversation for every request, so it calls nothing where it need not.
    for (let index = 0; index < this.#rounds.length; index += 1) {
      const round = this.#rounds[index]
      if (round === undefined || round.end > same || round.end > settled) return index
      if (round.end === same && !startsRound(messages, same)) return index
      if (hasVariants && variantOf(history, from, round.end) !== round.variant) return index
      from = round.end
    }
    return this.#rounds.length
  }

  messagesIn(rounds: number): number {
    return this.#rounds[rounds - 1]?.end ?? 0
  }

  bytesOf(rounds: number): readonly Uint8Array[] {
    return this.#bytes.slices(0, this.#rounds[rounds - 1]?.endByte ?? 0)
  }

  append(
    history: HistoryEncoding,
    { from, to, elements }: { readonly from: number; readonly to: number; readonly elements: string },
  ): void {
    this.#format = history.format
    this.#bytes.append(elements)
    for (const message of history.messages.slice(from, to)) this.#messages.push(message)
    this.#rounds.push({ end: to, endByte: this.#bytes.length, variant: variantOf(history, from, to) })
  }

  truncate(rounds: number): void {
    this.#messages.length = this.messagesIn(rounds)
    this.#bytes.truncate(this.#rounds[rounds - 1]?.endByte ?? 0)
    this.#rounds.length = rounds
  }

  #sameMessages(messages: readonly Message[]): number {
    const count = Math.min(messages.length, this.#messages.length)
    let index = 0
    while (index < count && messages[index] === this.#messages[index]) index += 1
    return index
  }
}

function variantOf(history: HistoryEncoding, from: number, to: number): number {
  return history.variant?.(from, to) ?? 0
}
