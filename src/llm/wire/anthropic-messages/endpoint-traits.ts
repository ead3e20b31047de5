import { isHostBelow } from "../../detect-wire.ts"
import type { WireEndpoint } from "../wire.ts"

/** How servers of this format differ, from their documentation: the protocol has no way to query it. */

export function isAnthropic(endpoint: WireEndpoint): boolean {
  return endpoint.host === "api.anthropic.com"
}

export function isMiniMax(endpoint: WireEndpoint): boolean {
  return (
    /^minimax(-|$)/.test(endpoint.provider) ||
    isHostBelow(endpoint.host, "minimax.io") ||
    isHostBelow(endpoint.host, "minimaxi.com")
  )
}

export function isAzure(endpoint: WireEndpoint): boolean {
  return isHostBelow(endpoint.host, "azure.com")
}

export function isAws(endpoint: WireEndpoint): boolean {
  return endpoint.provider === "bedrock" || isHostBelow(endpoint.host, "amazonaws.com")
}

/** Providers that require the dots in their model names. */
export function keepsDotsInModelNames(endpoint: WireEndpoint): boolean {
  return /^(alibaba|minimax|opencode|zai|bedrock|xiaomi)(-|$)/.test(endpoint.provider)
}

/**
 * Which thinking blocks of the history are sent. A signature is valid only at the server that issued it.
 * `latest-signed`: Anthropic verifies signatures and requires the thinking of the current turn. `unsigned`: the server
 * requires its thinking as plain text and rejects the signatures of others.
 */
export type ThinkingPolicy = "latest-signed" | "unsigned" | "drop"

export function thinkingPolicy(endpoint: WireEndpoint): ThinkingPolicy {
  if (isAnthropic(endpoint)) return "latest-signed"
  return isKimi(endpoint) || isHostBelow(endpoint.host, "deepseek.com") ? "unsigned" : "drop"
}

export function isKimi(endpoint: WireEndpoint): boolean {
  return (
    isHostBelow(endpoint.host, "kimi.com") ||
    isHostBelow(endpoint.host, "moonshot.ai") ||
    isHostBelow(endpoint.host, "moonshot.cn")
  )
}

/**
 * Where cache markers are allowed: `native` everywhere, `envelope` not on tool results, because gateways do not
 * translate those.
 */
export type CacheLayout = "native" | "envelope" | "none"

export function cacheLayout(endpoint: WireEndpoint, model: string): CacheLayout {
  const name = model.toLowerCase()
  const nous = endpoint.provider === "nous" || isHostBelow(endpoint.host, "nousresearch.com")
  const openRouter = endpoint.provider === "openrouter" || isHostBelow(endpoint.host, "openrouter.ai")
  if (endpoint.provider === "anthropic" || isAnthropic(endpoint)) return "native"
  if ((openRouter || nous) && name.includes("claude")) return "envelope"
  if (nous && name.includes("qwen")) return "envelope"
  if (name.includes("claude") || isMiniMax(endpoint)) return "native"
  return /^(opencode|opencode-zen|opencode-go|alibaba)$/.test(endpoint.provider) && name.includes("qwen")
    ? "envelope"
    : "none"
}
