import { expect, test } from "vitest"

import { detectWire } from "./detect-wire.ts"
import type { DetectedWire, WireDetectionInput } from "./detect-wire.ts"

const OPENAI = "https://api.openai.com/v1"
const CUSTOM = "https://models.example/v1"

const VECTORS: readonly [Partial<WireDetectionInput>, DetectedWire][] = [
  [
    { apiMode: "chat_completions", provider: "anthropic" },
    { wire: "chat_completions", assumed: false },
  ],
  [
    { apiMode: "auto", baseUrl: "https://api.anthropic.com" },
    { wire: "anthropic_messages", assumed: false },
  ],
  [{ provider: "openai-codex" }, { wire: "codex_responses", assumed: false }],
  [{ provider: "xai" }, { wire: "codex_responses", assumed: false }],
  [{ provider: "xai-oauth" }, { wire: "codex_responses", assumed: false }],
  [{ baseUrl: "https://chatgpt.com/backend-api/codex" }, { wire: "codex_responses", assumed: false }],
  [{ baseUrl: "https://api.x.ai/v1" }, { wire: "codex_responses", assumed: false }],
  [
    { provider: "custom", baseUrl: "https://api.x.ai/v1" },
    { wire: "chat_completions", assumed: false },
  ],
  [
    { provider: "anthropic", baseUrl: CUSTOM },
    { wire: "anthropic_messages", assumed: false },
  ],
  [{ baseUrl: "https://api.minimax.io/anthropic" }, { wire: "anthropic_messages", assumed: false }],
  [{ baseUrl: "https://api.minimax.io/anthropic/" }, { wire: "anthropic_messages", assumed: false }],
  [{ baseUrl: "https://api.kimi.com/coding/v1" }, { wire: "anthropic_messages", assumed: false }],
  [{ baseUrl: "https://evil.com/?u=api.anthropic.com" }, { wire: "chat_completions", assumed: false }],
  [{ baseUrl: "https://api.anthropic.com.evil.com/v1" }, { wire: "chat_completions", assumed: false }],
  [{ baseUrl: "https://notapi.openai.com/v1" }, { wire: "chat_completions", assumed: false }],
  [{ baseUrl: "https://bedrock-runtime.eu-west-1.amazonaws.com" }, { wire: "bedrock_converse", assumed: false }],
  [{ baseUrl: "https://bedrock-runtime.a.amazonaws.com.evil.com" }, { wire: "chat_completions", assumed: false }],
  [{ provider: "bedrock" }, { wire: "bedrock_converse", assumed: false }],
  [
    { provider: "gemini", baseUrl: "https://generativelanguage.googleapis.com/v1beta" },
    { wire: "gemini_native", assumed: false },
  ],
  [
    { provider: "gemini", baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai/" },
    { wire: "chat_completions", assumed: false },
  ],
  [
    { provider: "gemini", baseUrl: CUSTOM },
    { wire: "chat_completions", assumed: false },
  ],
  [
    { baseUrl: OPENAI, model: "gpt-5.2" },
    { wire: "codex_responses", assumed: true },
  ],
  [
    { baseUrl: OPENAI, model: "gpt-4.1" },
    { wire: "codex_responses", assumed: true },
  ],
  [
    { apiMode: "chat_completions", baseUrl: OPENAI, model: "gpt-5.2" },
    { wire: "chat_completions", assumed: false },
  ],
  [
    { baseUrl: "https://openrouter.ai/api/v1", model: "openai/GPT-5.2" },
    { wire: "codex_responses", assumed: true },
  ],
  [
    { baseUrl: CUSTOM, model: "gpt-5-local" },
    { wire: "codex_responses", assumed: true },
  ],
  [
    { baseUrl: "https://x.openai.azure.com/openai/v1", model: "gpt-5" },
    { wire: "chat_completions", assumed: false },
  ],
  [
    { provider: "nous", model: "gpt-5" },
    { wire: "chat_completions", assumed: false },
  ],
  [
    { baseUrl: "acp://copilot", model: "gpt-5" },
    { wire: "chat_completions", assumed: false },
  ],
  [
    { provider: "copilot-acp", model: "gpt-5" },
    { wire: "chat_completions", assumed: false },
  ],
  [
    { provider: "copilot", model: "gpt-5-mini" },
    { wire: "chat_completions", assumed: false },
  ],
  [
    { provider: "copilot", model: "gpt-5.2" },
    { wire: "codex_responses", assumed: true },
  ],
  [{ baseUrl: "http://localhost:11434/v1" }, { wire: "chat_completions", assumed: false }],
  [{ baseUrl: "not a url" }, { wire: "chat_completions", assumed: false }],
]

test.each(VECTORS)("%j", (input, expected) => {
  expect(detectWire({ baseUrl: CUSTOM, model: "some-model", ...input })).toEqual(expected)
})
