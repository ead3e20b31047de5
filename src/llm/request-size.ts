import { foldGrowingList } from "../base/fold-growing-list.ts"
import { oncePerObject } from "../base/once-per-object.ts"
import type { Message } from "../protocol/message.ts"
import type { ModelRequest } from "./model.ts"

/**
 * Estimates the tokens of a request without a tokenizer: four characters per token and a flat number per image. It runs for every
 * request, so it encodes nothing and measures each message once. Encrypted reasoning is not counted.
 */
export function approxRequestTokens(request: ModelRequest): number {
  const { characters, images } = sizeOf(request.messages)
  const all = request.system.length + toolCharacters(request.tools) + characters
  return Math.ceil(all / CHARACTERS_PER_TOKEN) + images * IMAGE_TOKENS
}

const sizeOf = foldGrowingList(
  () => ({ characters: 0, images: 0 }),
  (size, message: Message) => {
    size.characters += messageCharacters(message)
    size.images += imagesIn(message)
  },
)

/** Costs nothing for messages that were checked before. */
export function hasImages(messages: readonly Message[]): boolean {
  return sizeOf(messages).images > 0
}

const toolCharacters = oncePerObject((tools: ModelRequest["tools"]) =>
  tools.length === 0 ? 0 : JSON.stringify(tools).length,
)

const CHARACTERS_PER_TOKEN = 4
const IMAGE_TOKENS = 1500

function messageCharacters(message: Message): number {
  const base = message.role.length + textCharacters(message.content)
  switch (message.role) {
    case "assistant":
      return (message.tool_calls ?? []).reduce(
        (sum, { id, function: called }) => sum + id.length + called.name.length + called.arguments.length,
        base + (message.reasoning_content?.length ?? 0),
      )
    case "user":
      return base + (message.injected?.length ?? 0)
    default:
      return base
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
