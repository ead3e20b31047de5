import { isHostBelow, modelTail } from "../../detect-wire.ts"
import type { WireEndpoint } from "../wire.ts"

/** Recognises a server by provider name or host, and the vendor of a model also by the model name. */

export function isOpenRouter({ provider, host }: WireEndpoint): boolean {
  return provider === "openrouter" || isHostBelow(host, "openrouter.ai")
}

export function isNous({ provider, host }: WireEndpoint): boolean {
  return provider === "nous" || isHostBelow(host, "nousresearch.com")
}

export function isOpenAi({ provider, host }: WireEndpoint): boolean {
  return provider === "azure-openai" || isHostBelow(host, "api.openai.com") || isHostBelow(host, "openai.azure.com")
}

export function isCopilot({ provider, host }: WireEndpoint): boolean {
  return provider === "copilot" || isHostBelow(host, "githubcopilot.com")
}

export function isDeepSeek({ provider, host }: WireEndpoint): boolean {
  return provider === "deepseek" || isHostBelow(host, "deepseek.com")
}

export function isMoonshot({ provider, host }: WireEndpoint): boolean {
  return (
    provider === "kimi-coding" ||
    provider === "kimi-coding-cn" ||
    ["moonshot.ai", "moonshot.cn", "kimi.com"].some((domain) => isHostBelow(host, domain))
  )
}

export function isQwenPortal({ provider, host }: WireEndpoint): boolean {
  return provider === "qwen-oauth" || isHostBelow(host, "portal.qwen.ai")
}

export function isMistral({ provider, host }: WireEndpoint): boolean {
  return provider === "mistral" || isHostBelow(host, "mistral.ai")
}

/** A server known only by its URL: `custom`, or `custom:<name>` from the settings. */
export function isCustom({ provider }: WireEndpoint): boolean {
  return provider === "custom" || provider.startsWith("custom:")
}

export function isMoonshotModel(model: string): boolean {
  return /^(kimi|moonshot)(-|$)/.test(modelTail(model))
}

/** These servers require the reasoning of every earlier reply and reject a conversation without it. */
export function requiresReasoningEcho(endpoint: WireEndpoint, model: string): boolean {
  return (
    isDeepSeek(endpoint) ||
    isMoonshot(endpoint) ||
    isMoonshotModel(model) ||
    endpoint.provider === "xiaomi" ||
    isHostBelow(endpoint.host, "xiaomimimo.com") ||
    /^(deepseek|mimo)(-|$)/.test(modelTail(model))
  )
}

/** These servers accept their opaque reasoning blocks back, unchanged. */
export function acceptsReasoningDetails(endpoint: WireEndpoint): boolean {
  return isOpenRouter(endpoint) || isNous(endpoint)
}

/** Whether tool results may contain images; most servers accept only text. */
export function acceptsToolImages(endpoint: WireEndpoint): boolean {
  return isOpenRouter(endpoint) || isNous(endpoint)
}

/** Whether the gateway translates cache markers for the model behind it. */
export function acceptsCacheMarkers(endpoint: WireEndpoint, model: string): boolean {
  const name = model.toLowerCase()
  if (name.includes("claude")) return isOpenRouter(endpoint) || isNous(endpoint)
  return (
    name.includes("qwen") &&
    (isNous(endpoint) || /^(opencode|opencode-zen|opencode-go|alibaba)$/.test(endpoint.provider))
  )
}
