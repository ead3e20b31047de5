import { scrubSurrogates } from "../../base/text.ts"
import type { ModelRequest } from "../model.ts"

/** Trimmed and without lone surrogates, so that the text of a replayed message always has the same valid bytes. */
export function cleanText(text: string): string {
  return scrubSurrogates(text).trim()
}

/** The system prompt and the system messages of a conversation, for formats that send them apart from the messages. */
export function systemTexts(request: ModelRequest): readonly string[] {
  const later = request.messages.filter((message) => message.role === "system").map(({ content }) => content)
  return [request.system, ...later].filter((text) => text.trim() !== "").map(scrubSurrogates)
}
