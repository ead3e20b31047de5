import type { Message } from "../../../protocol/message.ts"
import { encodeRecent } from "../encode-recent.ts"
import type { HistoryEncoding } from "../wire.ts"
import { cacheMarker, firstMarkedIndex, withCacheMarker } from "./cache-markers.ts"
import { toChatMessage } from "./messages.ts"
import type { MessageFormat } from "./messages.ts"

export interface HistoryOptions {
  readonly format: MessageFormat
  /** A reply is inserted between tool results and a user message. */
  readonly answersResults: boolean
  /** Marks the newest messages for the prompt cache. `system`: the system prompt has a marker too. */
  readonly markers?: { readonly ttl: "5m" | "1h"; readonly system: boolean }
}

export function createHistoryEncoder(): (messages: readonly Message[], options: HistoryOptions) => HistoryEncoding {
  const encoderFor = createMessageEncoders()
  return (messages, { format, answersResults, markers }) => {
    const key = Object.values(format).join()
    const encodeMessage = encoderFor(format, key)
    const marked = markers === undefined ? messages.length : firstMarkedIndex(messages.length, markers)
    const encode = (message: Message, index: number): string => {
      // Cache markers move to newer messages with every request, so a marked message is not taken from the encoder's cache.
      const text =
        markers === undefined || index < marked
          ? encodeMessage(message)
          : JSON.stringify(withCacheMarker(toChatMessage(message, format), cacheMarker(markers.ttl)))
      const isUnanswered = answersResults && message.role === "user" && messages[index - 1]?.role === "tool"
      return isUnanswered ? `${ANSWER_TO_RESULTS},${text}` : text
    }
    return {
      messages,
      format: `${key},${answersResults}`,
      settled: marked,
      encode: (from, to) =>
        messages
          .slice(from, to)
          .map((message, index) => encode(message, from + index))
          .join(","),
    }
  }
}

/** Mistral rejects a user message that follows tool results, as after an interrupt or with an image from a tool. */
const ANSWER_TO_RESULTS = JSON.stringify({ role: "assistant", content: "I have the results." })

/** One encoder per format: a session may change its model, and with it the format. */
function createMessageEncoders(): (format: MessageFormat, key: string) => (message: Message) => string {
  const encoders = new Map<string, (message: Message) => string>()
  return (format, key) => {
    const encoder =
      encoders.get(key) ?? encodeRecent((message: Message) => JSON.stringify(toChatMessage(message, format)))
    encoders.set(key, encoder)
    return encoder
  }
}
