import type { WirePlace } from "./wire.ts"

/** What servers of this wire do differently. Their own documents say so; the wire itself has no way to ask. */

export function isAnthropic(place: WirePlace): boolean {
  return place.host === "api.anthropic.com"
}

export function isMiniMax(place: WirePlace): boolean {
  return /^minimax(-|$)/.test(place.provider) || isBelow(place, "minimax.io") || isBelow(place, "minimaxi.com")
}

export function isAzure(place: WirePlace): boolean {
  return isBelow(place, "azure.com")
}

export function isAws(place: WirePlace): boolean {
  return place.provider === "bedrock" || isBelow(place, "amazonaws.com")
}

/** Providers whose model names contain dots that mean something to them. */
export function keepsDots(place: WirePlace): boolean {
  return /^(alibaba|minimax|opencode|zai|bedrock|xiaomi)(-|$)/.test(place.provider)
}

/**
 * Signatures are only good where they were made. `latest-signed`: Anthropic itself checks them and wants the thinking of the
 * running turn back. `unsigned`: servers that want the plain text of their thinking and refuse a foreign signature.
 */
export type ThinkingPolicy = "latest-signed" | "unsigned" | "drop"

export function thinkingPolicy(place: WirePlace): ThinkingPolicy {
  if (isAnthropic(place)) return "latest-signed"
  return isKimi(place) || isBelow(place, "deepseek.com") ? "unsigned" : "drop"
}

export function isKimi(place: WirePlace): boolean {
  return isBelow(place, "kimi.com") || isBelow(place, "moonshot.ai") || isBelow(place, "moonshot.cn")
}

/** Whether cache markers are understood: `native` also on tool results, `envelope` not there, as gateways translate them. */
export type CacheLayout = "native" | "envelope" | "none"

export function cacheLayout(place: WirePlace, model: string): CacheLayout {
  const name = model.toLowerCase()
  const nous = place.provider === "nous" || isBelow(place, "nousresearch.com")
  const openRouter = place.provider === "openrouter" || isBelow(place, "openrouter.ai")
  if (place.provider === "anthropic" || isAnthropic(place)) return "native"
  if ((openRouter || nous) && name.includes("claude")) return "envelope"
  if (nous && name.includes("qwen")) return "envelope"
  if (name.includes("claude") || isMiniMax(place)) return "native"
  return /^(opencode|opencode-zen|opencode-go|alibaba)$/.test(place.provider) && name.includes("qwen")
    ? "envelope"
    : "none"
}

function isBelow(place: WirePlace, domain: string): boolean {
  return place.host === domain || place.host.endsWith(`.${domain}`)
}
