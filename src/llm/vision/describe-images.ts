import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import type { ModelRequest } from "../model.ts"
import { imagesIn } from "../request-size.ts"
import type { DescribeOptions, ImageDescriber, ImageInContext, ImagePart } from "./image-describer.ts"

export interface DescribedRequest {
  readonly request: ModelRequest
  /** A notice for the user; absent when nothing is new. */
  readonly notice?: string
}

/** Prepares a request for a model without vision: replaces every image with a description from another model. */
export async function describeImages(
  request: ModelRequest,
  describer: ImageDescriber,
  options: DescribeOptions,
): Promise<DescribedRequest> {
  const notices = new Set<string>()
  const messages = await Promise.all(
    request.messages.map(async (message) => {
      if (message.role === "system" || imagesIn(message) === 0) return message
      return await replaceImages(message, async (part) => {
        const described = await describer.describe({ part, surroundingText: contentText(message.content) }, options)
        if (!described.ok) {
          const { message: reason, isNew } = described.error
          if (isNew)
            notices.add(`The model ${request.model} has no vision, and the images could not be described: ${reason}`)
          return "[image omitted: it could not be described]"
        }
        if (described.value.isNew)
          notices.add(`The model ${request.model} has no vision, so another model describes the images`)
        return `[image, described by another model: ${described.value.text}]`
      })
    }),
  )
  const [notice] = notices
  return { request: { ...request, messages }, ...(notice === undefined ? {} : { notice }) }
}

/** The images of a request as the describer identifies them. */
export function imagesInContext({ messages }: ModelRequest): readonly ImageInContext[] {
  return messages.flatMap(({ content }) => {
    if (content === null || typeof content === "string") return []
    const surroundingText = contentText(content)
    return content.flatMap((part) => (part.type === "image_url" ? [{ part, surroundingText }] : []))
  })
}

type Describe = (part: ImagePart) => Promise<string>

async function replaceImages(message: Exclude<Message, { role: "system" }>, describe: Describe): Promise<Message> {
  const { content } = message
  if (content === null || typeof content === "string") return message
  const parts = await Promise.all(
    content.map(async (part) => (part.type === "text" ? part.text : await describe(part))),
  )
  return describedMessage(message, parts.join("\n"))
}

/** The same object for the same descriptions, because encoded bytes are cached by identity. */
function describedMessage(message: Exclude<Message, { role: "system" }>, content: string): Message {
  const known = described.get(message)
  if (known?.content === content) return known
  const next = { ...message, content }
  described.set(message, next)
  return next
}

const described = new WeakMap<Message, Message>()
