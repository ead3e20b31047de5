import { sha256Hex } from "../../base/random-and-hash.ts"
import type { Result } from "../../base/result.ts"
import type { Message, Part } from "../../protocol/message.ts"
import type { ModelRequest } from "../model.ts"
import { imagesIn } from "../request-size.ts"
import { inlineImage } from "../wire/inline-image.ts"
import { readImageFacts } from "./image-header.ts"
import type { ImageFacts } from "./image-header.ts"
import { COPY_LIMITS, limitsAfterRefusal, stricter } from "./image-limits.ts"
import type { ImageLimits } from "./image-limits.ts"
import { shrinkImage } from "./shrink-image.ts"
import type { SmallerImage } from "./shrink-pixels.ts"

/** Keeps the images of a conversation within what its server takes. What is stored is never touched; only copies are sent. */
export interface ImageFitter {
  /** The same message always comes out the same, as long as nothing new is learned: providers cache by prefix. */
  fit(request: ModelRequest, options: { readonly signal: AbortSignal }): Promise<FittedRequest>
  /** The server refused an image for its size, perhaps with the numbers it keeps to. False when that is no news. */
  learn(named: { readonly maxSide?: number; readonly maxBytes?: number }): boolean
}

export interface FittedRequest {
  /** The given one when everything in it fits. */
  readonly request: ModelRequest
  /** For the person, when something about it is new. */
  readonly notice?: string
}

export interface FitterOptions {
  readonly limits: ImageLimits
  /** Who has these limits, for people. */
  readonly provider: string
  readonly shrink?: typeof shrinkImage
}

type ImagePart = Extract<Part, { type: "image_url" }>

export function createImageFitter({ limits, provider, shrink = shrinkImage }: FitterOptions): ImageFitter {
  let accepted = limits
  let fitted = new WeakMap<Message, Message>()
  const copies = new Map<string, Result<SmallerImage>>()

  /** The part that is sent instead; the given one when it fits. */
  const fitPart = async (part: ImagePart, notices: Set<string>, signal: AbortSignal): Promise<Part> => {
    const image = inlineImage(part.image_url.url)
    if (image === undefined) return part
    const bytes = Buffer.from(image.base64, "base64")
    const facts = readImageFacts(bytes)
    if (fits(image.base64.length, facts, accepted)) return part
    const target = stricter(accepted, COPY_LIMITS)
    const key = sha256Hex(`${target.maxChars} ${target.maxSide} ${image.base64}`)
    const known = copies.get(key)
    const copy = known ?? (await shrink(bytes, target, { signal }))
    if (signal.aborted) return part
    copies.set(key, copy)
    if (known === undefined) notices.add(noticeOf(copy, { facts, provider }))
    if (!copy.ok) return { type: "text", text: "[image left out: it is too large for the model]" }
    const url = `data:${copy.value.mediaType};base64,${Buffer.from(copy.value.bytes).toString("base64")}`
    return { ...part, image_url: { ...part.image_url, url } }
  }

  const fitMessage = async (message: Message, notices: Set<string>, signal: AbortSignal): Promise<Message> => {
    if (message.role === "system" || message.content === null || typeof message.content === "string") return message
    const known = fitted.get(message)
    if (known !== undefined) return known
    const parts: Part[] = []
    // One after the other: each takes hundreds of megabytes for a moment.
    for (const part of message.content) {
      parts.push(part.type === "image_url" ? await fitPart(part, notices, signal) : part)
    }
    const same = parts.every((part, index) => part === message.content?.[index])
    const sent = same ? message : { ...message, content: parts }
    if (!signal.aborted) fitted.set(message, sent)
    return sent
  }

  return {
    fit: async (request, { signal }) => {
      const notices = new Set<string>()
      const messages: Message[] = []
      for (const message of request.messages) {
        messages.push(imagesIn(message) === 0 ? message : await fitMessage(message, notices, signal))
      }
      const changed = messages.some((message, index) => message !== request.messages[index])
      return {
        request: changed ? { ...request, messages } : request,
        ...(notices.size === 0 ? {} : { notice: [...notices].join("; ") }),
      }
    },
    learn: (named) => {
      const next = stricter(accepted, limitsAfterRefusal(named))
      if (next.maxChars === accepted.maxChars && next.maxSide === accepted.maxSide) return false
      accepted = next
      fitted = new WeakMap()
      return true
    },
  }
}

/** An image that says nothing about its sides is judged by its bytes alone. */
function fits(chars: number, facts: ImageFacts | undefined, limits: ImageLimits): boolean {
  return chars <= limits.maxChars && (facts === undefined || Math.max(facts.width, facts.height) <= limits.maxSide)
}

function noticeOf(
  copy: Result<SmallerImage>,
  { facts, provider }: { readonly facts: ImageFacts | undefined; readonly provider: string },
): string {
  if (!copy.ok) {
    return `an image is larger than ${provider} takes and could not be made smaller: ${copy.error}; it is left out. Send a smaller one to have it seen`
  }
  const before =
    facts === undefined ? "" : ` (${facts.width}×${facts.height}, now ${copy.value.width}×${copy.value.height})`
  return `an image is larger than ${provider} takes, so a smaller copy of it is sent${before}`
}
