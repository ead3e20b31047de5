import type { WireName } from "./model.ts"
import { createWireCodec } from "./route.ts"
import type { WireCodec } from "./route.ts"
import type { OpenRouterSettings } from "./wire/chat-completions/provider-extras.ts"
import type { WireEndpoint } from "./wire/wire.ts"

/** Settings that change what a wire sends. */
export interface WireSettings {
  readonly extraBody: Readonly<Record<string, unknown>>
  readonly maxTokensDefault?: number
  readonly guardrail: Readonly<Record<string, unknown>>
  readonly openRouter: OpenRouterSettings
  readonly streaming: boolean
  readonly includeUsage: boolean
  /** False once the endpoint has refused the long-context beta. */
  readonly longContext: boolean
}

/** Loads each HTTP wire on demand, so that only the code of the wires in use is loaded. */
export const HTTP_WIRES = {
  chat_completions: async (endpoint, settings) => {
    const { createChatCompletionsWire } = await import("./wire/chat-completions/wire.ts")
    const { extraBody, maxTokensDefault, openRouter, streaming, includeUsage } = settings
    const cap = maxTokensDefault === undefined ? {} : { maxTokensDefault }
    return createWireCodec(
      createChatCompletionsWire(endpoint, { extraBody, openRouter, streaming, includeUsage, ...cap }),
    )
  },
  anthropic_messages: async (endpoint, { longContext }) => {
    const { createAnthropicMessagesWire } = await import("./wire/anthropic-messages/wire.ts")
    return createWireCodec(createAnthropicMessagesWire(endpoint, { longContext }))
  },
  codex_responses: async (endpoint) => {
    const { createCodexResponsesWire } = await import("./wire/codex-responses/wire.ts")
    return createWireCodec(createCodexResponsesWire(endpoint))
  },
  bedrock_converse: async (endpoint, settings) => {
    const { createBedrockConverseWire } = await import("./wire/bedrock-converse/wire.ts")
    return createWireCodec(createBedrockConverseWire(endpoint, settings))
  },
  gemini_native: async (endpoint) => {
    const { createGeminiWire } = await import("./wire/gemini/wire.ts")
    return createWireCodec(createGeminiWire(endpoint))
  },
} satisfies Record<
  Exclude<WireName, "in-process">,
  (endpoint: WireEndpoint, settings: WireSettings) => Promise<WireCodec>
>
