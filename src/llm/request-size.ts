import type { Message } from "../protocol/message.ts"
import type { ModelRequest } from "./model.ts"

/**
 * About how many tokens a request holds, without a tokenizer: four characters each, and a flat number for an image. Made for every
 * request, so nothing is encoded for it; sealed thoughts, which nobody can count, are left out.
 */
export function approxRequestTokens(request: ModelRequest): number {
  const characters = request.messages.reduce((sum, message) => sum + messageCharacters(message), request.system.length)
  const tools = request.tools.length === 0 ? 0 : JSON.stringify(request.tools).length
  const images = request.messages.reduce((sum, message) => sum + imagesIn(message), 0)
  return Math.ceil((characters + tools) / CHARACTERS_PER_TOKEN) + images * IMAGE_TOKENS
}

const CHARACTERS_PER_TOKEN = 4
const IMAGE_TOKENS = 1500

function messageCharacters(message: Message): number {
  const spoken = message.role.length + textCharacters(message.content)
  switch (message.role) {
    case "assistant":
      return (message.tool_calls ?? []).reduce(
        (sum, { id, function: called }) => sum + id.length + called.name.length + called.arguments.length,
        spoken + (message.reasoning_content?.length ?? 0),
      )
    case "user":
      return spoken + (message.injected?.length ?? 0)
    default:
      return spoken
  }
}

function textCharacters(content: Message["content"]): number {
  if (content === null) return 0
  if (typeof content === "string") return content.length
  return content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0)
}

export function imagesIn({ content }: Message): number {
  if (content === null || typeof content === "string") return 0
  return content.filter((part) => part.type !== "text").length
}
