import { isHostBelow, modelTail } from "../detect-wire.ts"
import type { WirePlace } from "./wire.ts"

/** What servers of this wire are, told by the provider's name or the host; a model's maker also by the model's name. */

export function isOpenRouter({ provider, host }: WirePlace): boolean {
  return provider === "openrouter" || isHostBelow(host, "openrouter.ai")
}

export function isNous({ provider, host }: WirePlace): boolean {
  return provider === "nous" || isHostBelow(host, "nousresearch.com")
}

export function isOpenAi({ host }: WirePlace): boolean {
  return isHostBelow(host, "api.openai.com") || isHostBelow(host, "openai.azure.com")
}

export function isCopilot({ provider, host }: WirePlace): boolean {
  return provider === "copilot" || isHostBelow(host, "githubcopilot.com")
}

export function isDeepSeek({ provider, host }: WirePlace): boolean {
  return provider === "deepseek" || isHostBelow(host, "deepseek.com")
}

export function isMoonshot({ provider, host }: WirePlace): boolean {
  return (
    provider === "kimi-coding" ||
    provider === "kimi-coding-cn" ||
    ["moonshot.ai", "moonshot.cn", "kimi.com"].some((domain) => isHostBelow(host, domain))
  )
}

export function isQwenPortal({ provider, host }: WirePlace): boolean {
  return provider === "qwen-oauth" || isHostBelow(host, "portal.qwen.ai")
}

/** A server known by its address alone, `custom` or one of the settings' `custom:<name>`. */
export function isCustom({ provider }: WirePlace): boolean {
  return provider === "custom" || provider.startsWith("custom:")
}

export function isMoonshotModel(model: string): boolean {
  return /^(kimi|moonshot)(-|$)/.test(modelTail(model))
}

/** These want the reasoning of every earlier reply back, and refuse a conversation in which one lacks it. */
export function wantsReasoningEcho(place: WirePlace, model: string): boolean {
  return (
    isDeepSeek(place) ||
    isMoonshot(place) ||
    isMoonshotModel(model) ||
    place.provider === "xiaomi" ||
    isHostBelow(place.host, "xiaomimimo.com") ||
    /^(deepseek|mimo)(-|$)/.test(modelTail(model))
  )
}

/** These keep opaque reasoning blocks between turns and take them back unchanged. */
export function takesReasoningDetails(place: WirePlace): boolean {
  return isOpenRouter(place) || isNous(place)
}

/** Images in a tool's result; most servers take only text there. */
export function takesResultImages(place: WirePlace): boolean {
  return isOpenRouter(place) || isNous(place)
}

/** Whether cache markers are translated for the model behind the gateway. */
export function takesCacheMarkers(place: WirePlace, model: string): boolean {
  const name = model.toLowerCase()
  if (name.includes("claude")) return isOpenRouter(place) || isNous(place)
  return (
    name.includes("qwen") && (isNous(place) || /^(opencode|opencode-zen|opencode-go|alibaba)$/.test(place.provider))
  )
}
