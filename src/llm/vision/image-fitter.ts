import { sha256Hex } from "../../base/random-and-hash.ts"
import type { Result } from "../../base/result.ts"
import type { Message, Part } from "../../protocol/message.ts"
import type { ModelRequest } from "../model.ts"
import { imagesIn } from "../request-size.ts"
import { parseImageDataUrl } from "../wire/image-data-url.ts"
import { readImageHeader } from "./image-header.ts"
import type { ImageHeader } from "./image-header.ts"
import { COPY_LIMITS, limitsAfterRejection, stricterLimits } from "./image-limits.ts"
import type { ImageLimits } from "./image-limits.ts"
import { shrinkImage } from "./shrink-image.ts"
import type { ShrunkImage } from "./shrink-pixels.ts"

/**
 * Keeps the images of a conversation within the limits of its server. Stored messages are not modified; smaller copies
 * are sent.
 */
export interface ImageFitter {
  /** Returns the same output for the same message until the limits change, because providers cache by prefix. */
  fit(request: ModelRequest, options: { readonly signal: AbortSignal }): Promise<FittedRequest>
  /**
   * Applies the limits from the server's rejection of an image. Returns false when they are not stricter than the
   * current ones.
   */
  tightenLimits(reported: { readonly maxSide?: number; readonly maxBytes?: number }): boolean
}

export interface FittedRequest {
  /** The given request when all its images fit. */
  readonly request: ModelRequest
  /** A notice for the user; absent when nothing is new. */
  readonly notice?: string
}

export interface FitterOptions {
  readonly limits: ImageLimits
  /** The name of the provider in notices. */
  readonly provider: string
  readonly shrink?: typeof shrinkImage
}

type ImagePart = Extract<Part, { type: "image_url" }>

export function createImageFitter({ limits, provider, shrink = shrinkImage }: FitterOptions): ImageFitter {
  let accepted = limits
  let fitted = new WeakMap<Message, Message>()
  const copies = new Map<string, Result<ShrunkImage>>()

  /** Returns the part to send: the given one when it fits, else a smaller copy or a note. */
  const fitPart = async (part: ImagePart, notices: Set<string>, signal: AbortSignal): Promise<Part> => {
    const image = parseImageDataUrl(part.image_url.url)
    if (image === undefined) return part
    const bytes = Buffer.from(image.base64, "base64")
    const header = readImageHeader(bytes)
    if (fits(image.base64.length, header, accepted)) return part
    const target = stricterLimits(accepted, COPY_LIMITS)
    const key = sha256Hex(`${target.maxChars} ${target.maxSide} ${image.base64}`)
    const known = copies.get(key)
    const copy = known ?? (await shrink(bytes, target, { signal }))
    if (signal.aborted) return part
    copies.set(key, copy)
    if (known === undefined) notices.add(noticeOf(copy, { header, provider }))
    if (!copy.ok) return { type: "text", text: "[image omitted: it is too large for the model]" }
    const url = `data:${copy.value.mediaType};base64,${Buffer.from(copy.value.bytes).toString("base64")}`
    return { ...part, image_url: { ...part.image_url, url } }
  }

  const fitMessage = async (message: Message, notices: Set<string>, signal: AbortSignal): Promise<Message> => {
    if (message.role === "system" || message.content === null || typeof message.content === "string") return message
    const known = fitted.get(message)
    if (known !== undefined) return known
    const parts: Part[] = []
    // Sequentially, because shrinking one image takes hundreds of megabytes.
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
    tightenLimits: (reported) => {
      const next = stricterLimits(accepted, limitsAfterRejection(reported))
      if (next.maxChars === accepted.maxChars && next.maxSide === accepted.maxSide) return false
      accepted = next
      fitted = new WeakMap()
      return true
    },
  }
}

/** An image with an unknown header is checked only by its encoded length. */
function fits(chars: number, header: ImageHeader | undefined, limits: ImageLimits): boolean {
  return chars <= limits.maxChars && (header === undefined || Math.max(header.width, header.height) <= limits.maxSide)
}

function noticeOf(
  copy: Result<ShrunkImage>,
  { header, provider }: { readonly header: ImageHeader | undefined; readonly provider: string },
): string {
  if (!copy.ok) {
    return `an image is too large for ${provider} and could not be shrunk: ${copy.error}; it was omitted. Send a smaller one`
  }
  const before =
    header === undefined ? "" : ` (${header.width}×${header.height}, now ${copy.value.width}×${copy.value.height})`
  return `an image is too large for ${provider}, so a smaller copy is sent${before}`
}
