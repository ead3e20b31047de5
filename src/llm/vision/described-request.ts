import { contentText } from "../../protocol/message.ts"
import type { Message, Part } from "../../protocol/message.ts"
import type { ModelRequest } from "../model.ts"
import { imagesIn } from "../request-size.ts"
import type { ImageDescriber } from "./image-describer.ts"

export interface DescribedRequest {
  readonly request: ModelRequest
  /** For the person, when something about it is new. */
  readonly notice?: string
}

/** The request for a model that sees nothing: every image is replaced by what another model says about it. */
export async function describedRequest(
  request: ModelRequest,
  describer: ImageDescriber,
  { signal }: { readonly signal: AbortSignal },
): Promise<DescribedRequest> {
  const notices = new Set<string>()
  const messages = await Promise.all(
    request.messages.map(async (message) => {
      if (message.role === "system" || imagesIn(message) === 0) return message
      return await inWords(message, async (part) => {
        const described = await describer.describe({ part, words: contentText(message.content) }, { signal })
        if (!described.ok) {
          notices.add(`${request.model} sees no images, and they could not be described to it: ${described.error}`)
          return "[image left out: it could not be described]"
        }
        if (described.value.isNew) notices.add(`${request.model} sees no images, so they are described to it in words`)
        return `[image, described by another model: ${described.value.text}]`
      })
    }),
  )
  const [notice] = notices
  return { request: { ...request, messages }, ...(notice === undefined ? {} : { notice }) }
}

type Describe = (part: Extract<Part, { type: "image_url" }>) => Promise<string>

async function inWords(message: Exclude<Message, { role: "system" }>, describe: Describe): Promise<Message> {
  const { content } = message
  if (content === null || typeof content === "string") return message
  const parts = await Promise.all(
    content.map(async (part) => (part.type === "text" ? part.text : await describe(part))),
  )
  return { ...message, content: parts.join("\n") }
}
