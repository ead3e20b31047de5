import type { Message, Part, ToolMessage, UserMessage } from "../../protocol/message.ts"
import { imagesIn } from "../request-size.ts"

/**
 * For endpoints whose tool results may only contain text: moves images into a separate user message after the last
 * result of the round. Returns the same objects for the same messages, so that their cached encoding, and the prefix of
 * the request, stay equal.
 */
export function createToolImageMover(): (messages: readonly Message[]) => readonly Message[] {
  const texts = new WeakMap<ToolMessage, ToolMessage>()
  const imageMessages = new WeakMap<
    ToolMessage,
    { readonly results: readonly ToolMessage[]; readonly message: UserMessage }
  >()

  const asText = (message: ToolMessage): ToolMessage => {
    const text = texts.get(message) ?? withoutImages(message)
    texts.set(message, text)
    return text
  }

  const imageMessageFor = (withImages: readonly ToolMessage[], last: ToolMessage): UserMessage => {
    const known = imageMessages.get(last)
    if (
      known?.results.length === withImages.length &&
      known.results.every((message, index) => message === withImages[index])
    ) {
      return known.message
    }
    const message: UserMessage = { role: "user", content: withImages.flatMap(labelledImages) }
    imageMessages.set(last, { results: withImages, message })
    return message
  }

  return (messages) => {
    if (!messages.some((message) => message.role === "tool" && imagesIn(message) > 0)) return messages
    let withImages: ToolMessage[] = []
    return messages.flatMap((message, index): readonly Message[] => {
      if (message.role !== "tool") return [message]
      const hasImages = imagesIn(message) > 0
      if (hasImages) withImages.push(message)
      const sent = hasImages ? asText(message) : message
      if (messages[index + 1]?.role === "tool" || withImages.length === 0) return [sent]
      const imageMessage = imageMessageFor(withImages, message)
      withImages = []
      return [sent, imageMessage]
    })
  }
}

function withoutImages(message: ToolMessage): ToolMessage {
  if (typeof message.content === "string") return message
  const content = message.content.map((part) =>
    part.type === "text" ? part.text : "[image: it follows after the results]",
  )
  return { ...message, content: content.join("\n") }
}

/** The label tells the model that the image is not from the user, despite the role of the message. */
function labelledImages({ content, tool_name: tool, tool_call_id: call }: ToolMessage): readonly Part[] {
  if (typeof content === "string") return []
  return [
    { type: "text", text: `[From the result of ${tool} (${call}), not from the user:]` },
    ...content.filter((part) => part.type === "image_url"),
  ]
}
