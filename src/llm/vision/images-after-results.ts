import type { Message, Part, ToolMessage, UserMessage } from "../../protocol/message.ts"
import { imagesIn } from "../request-size.ts"

/**
 * For places where the result of a tool may only be text: its images follow in a message of their own, behind the last result of the
 * round. The same messages always give the same objects, so that wires keep their bytes; the first bytes of a request stay as they were.
 */
export function createImageMover(): (messages: readonly Message[]) => readonly Message[] {
  const texts = new WeakMap<ToolMessage, ToolMessage>()
  const followers = new WeakMap<ToolMessage, { readonly of: readonly ToolMessage[]; readonly message: UserMessage }>()

  const asText = (message: ToolMessage): ToolMessage => {
    const text = texts.get(message) ?? withoutImages(message)
    texts.set(message, text)
    return text
  }

  const followerOf = (shown: readonly ToolMessage[], last: ToolMessage): UserMessage => {
    const known = followers.get(last)
    if (known?.of.length === shown.length && known.of.every((message, index) => message === shown[index])) {
      return known.message
    }
    const message: UserMessage = { role: "user", content: shown.flatMap(labelledImages) }
    followers.set(last, { of: shown, message })
    return message
  }

  return (messages) => {
    if (!messages.some((message) => message.role === "tool" && imagesIn(message) > 0)) return messages
    let shown: ToolMessage[] = []
    return messages.flatMap((message, index): readonly Message[] => {
      if (message.role !== "tool") return [message]
      const hasImages = imagesIn(message) > 0
      if (hasImages) shown.push(message)
      const sent = hasImages ? asText(message) : message
      if (messages[index + 1]?.role === "tool" || shown.length === 0) return [sent]
      const follower = followerOf(shown, message)
      shown = []
      return [sent, follower]
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

/** The role is the person's, the image is not: whoever reads it is told so. */
function labelledImages({ content, tool_name: tool, tool_call_id: call }: ToolMessage): readonly Part[] {
  if (typeof content === "string") return []
  return [
    { type: "text", text: `[From the result of ${tool} (${call}), not from the person:]` },
    ...content.filter((part) => part.type === "image_url"),
  ]
}
