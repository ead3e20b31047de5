import type { WireName } from "../model.ts"

/** The largest image that a server accepts. */
export interface ImageLimits {
  /** Characters in base64, which is what vendors count. */
  readonly maxChars: number
  /** Pixels of the longer side. */
  readonly maxSide: number
}

const MEGABYTE = 1024 * 1024

/** The vendors' documented limits: 5 MB and 8000 pixels for Claude at any host, else a 20 MB file. */
export function documentedLimits({ wire, model }: { readonly wire: WireName; readonly model: string }): ImageLimits {
  const claude = wire === "anthropic_messages" || wire === "bedrock_converse" || model.toLowerCase().includes("claude")
  return claude
    ? { maxChars: 5 * MEGABYTE, maxSide: 8000 }
    : { maxChars: Math.floor((20 * MEGABYTE * 4) / 3), maxSide: Number.POSITIVE_INFINITY }
}

/** The target for a smaller copy. All vendors accept it, and none uses a higher resolution. */
export const COPY_LIMITS: ImageLimits = { maxChars: 4 * MEGABYTE, maxSide: 8000 }

const MIN_SIDE = 512
const MIN_CHARS = 64 * 1024

/** The limits after a rejection: its own numbers, within sensible bounds, else those of a copy. */
export function limitsAfterRejection(reported: { readonly maxSide?: number; readonly maxBytes?: number }): ImageLimits {
  const { maxSide = COPY_LIMITS.maxSide, maxBytes = COPY_LIMITS.maxChars } = reported
  return {
    maxChars: Math.max(MIN_CHARS, Math.min(maxBytes, COPY_LIMITS.maxChars)),
    maxSide: Math.max(MIN_SIDE, Math.min(maxSide, COPY_LIMITS.maxSide)),
  }
}

export function stricterLimits(a: ImageLimits, b: ImageLimits): ImageLimits {
  return { maxChars: Math.min(a.maxChars, b.maxChars), maxSide: Math.min(a.maxSide, b.maxSide) }
}
