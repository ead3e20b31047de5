import type { WireName } from "./model.ts"
import { codecOf } from "./route.ts"
import type { WireCodec } from "./route.ts"
import type { OpenRouterSettings } from "./wire/chat-provider-extras.ts"
import type { WirePlace } from "./wire/wire.ts"

/** What the settings may change about a wire. */
export interface WireSettings {
  readonly extraBody: Readonly<Record<string, unknown>>
  readonly maxTokensDefault?: number
  readonly guardrail: Readonly<Record<string, unknown>>
  readonly openRouter: OpenRouterSettings
  readonly streaming: boolean
  readonly includeUsage: boolean
  /** False once the place has refused the beta for a longer context. */
  readonly longContext: boolean
}

/** Every wire that travels over HTTP. The code of one is loaded only when a model that speaks it is opened. */
export const HTTP_WIRES = {
  chat_completions: async (place, settings) => {
    const { createChatCompletionsWire } = await import("./wire/chat-completions.ts")
    const { extraBody, maxTokensDefault, openRouter, streaming, includeUsage } = settings
    const cap = maxTokensDefault === undefined ? {} : { maxTokensDefault }
    return codecOf(createChatCompletionsWire(place, { extraBody, openRouter, streaming, includeUsage, ...cap }))
  },
  anthropic_messages: async (place, { longContext }) => {
    const { createAnthropicMessagesWire } = await import("./wire/anthropic-messages.ts")
    return codecOf(createAnthropicMessagesWire(place, { longContext }))
  },
  codex_responses: async (place) => {
    const { createCodexResponsesWire } = await import("./wire/codex-responses.ts")
    return codecOf(createCodexResponsesWire(place))
  },
  bedrock_converse: async (place, settings) => {
    const { createBedrockConverseWire } = await import("./wire/bedrock-converse.ts")
    return codecOf(createBedrockConverseWire(place, settings))
  },
  gemini_native: async (place) => {
    const { createGeminiWire } = await import("./wire/gemini.ts")
    return codecOf(createGeminiWire(place))
  },
} satisfies Record<Exclude<WireName, "in-process">, (place: WirePlace, settings: WireSettings) => Promise<WireCodec>>
