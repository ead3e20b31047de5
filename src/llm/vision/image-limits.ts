import type { WireName } from "../model.ts"

/** The largest image a server takes. */
export interface ImageLimits {
  /** Characters of its base64 form: that is what vendors count. */
  readonly maxChars: number
  /** Pixels of its longer side. */
  readonly maxSide: number
}

const MEGABYTE = 1024 * 1024

/** What vendors document: Claude takes 5 MB and 8000 pixels wherever it is served, the others 20 MB of file. */
export function knownLimits({ wire, model }: { readonly wire: WireName; readonly model: string }): ImageLimits {
  const claude = wire === "anthropic_messages" || wire === "bedrock_converse" || model.toLowerCase().includes("claude")
  return claude
    ? { maxChars: 5 * MEGABYTE, maxSide: 8000 }
    : { maxChars: Math.floor((20 * MEGABYTE * 4) / 3), maxSide: Number.POSITIVE_INFINITY }
}

/** How small a copy is made. No vendor looks closer, and all of them take this. */
export const COPY_LIMITS: ImageLimits = { maxChars: 4 * MEGABYTE, maxSide: 8000 }

const SMALLEST_SIDE = 512
const SMALLEST_CHARS = 64 * 1024

/** What to keep to after a refusal: the numbers in it where it names some, within reason. */
export function limitsAfterRefusal(named: { readonly maxSide?: number; readonly maxBytes?: number }): ImageLimits {
  const { maxSide = COPY_LIMITS.maxSide, maxBytes = COPY_LIMITS.maxChars } = named
  return {
    maxChars: Math.max(SMALLEST_CHARS, Math.min(maxBytes, COPY_LIMITS.maxChars)),
    maxSide: Math.max(SMALLEST_SIDE, Math.min(maxSide, COPY_LIMITS.maxSide)),
  }
}

export function stricter(a: ImageLimits, b: ImageLimits): ImageLimits {
  return { maxChars: Math.min(a.maxChars, b.maxChars), maxSide: Math.min(a.maxSide, b.maxSide) }
}
