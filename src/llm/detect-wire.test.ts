import { expect, test } from "vitest"

import { detectWire } from "./detect-wire.ts"
import type { DetectedWire, WireQuestion } from "./detect-wire.ts"

const OPENAI = "https://api.openai.com/v1"
const CUSTOM = "https://models.example/v1"

const VECTORS: readonly [Partial<WireQuestion>, DetectedWire][] = [
  [
    { apiMode: "chat_completions", provider: "anthropic" },
    { wire: "chat_completions", provider: "anthropic", upgraded: false },
  ],
  [
    { apiMode: "auto", baseUrl: "https://api.anthropic.com" },
    { wire: "anthropic_messages", upgraded: false },
  ],
  [{ provider: "openai-codex" }, { wire: "codex_responses", provider: "openai-codex", upgraded: false }],
  [{ provider: "xai" }, { wire: "codex_responses", provider: "xai", upgraded: false }],
  [{ provider: "xai-oauth" }, { wire: "codex_responses", provider: "xai-oauth", upgraded: false }],
  [
    { baseUrl: "https://chatgpt.com/backend-api/codex" },
    { wire: "codex_responses", provider: "openai-codex", upgraded: false },
  ],
  [{ baseUrl: "https://api.x.ai/v1" }, { wire: "codex_responses", upgraded: false }],
  [
    { provider: "custom", baseUrl: "https://api.x.ai/v1" },
    { wire: "chat_completions", provider: "custom", upgraded: false },
  ],
  [
    { provider: "anthropic", baseUrl: CUSTOM },
    { wire: "anthropic_messages", provider: "anthropic", upgraded: false },
  ],
  [{ baseUrl: "https://api.minimax.io/anthropic" }, { wire: "anthropic_messages", upgraded: false }],
  [{ baseUrl: "https://api.minimax.io/anthropic/" }, { wire: "anthropic_messages", upgraded: false }],
  [{ baseUrl: "https://api.kimi.com/coding/v1" }, { wire: "anthropic_messages", upgraded: false }],
  [{ baseUrl: "https://evil.com/?u=api.anthropic.com" }, { wire: "chat_completions", upgraded: false }],
  [{ baseUrl: "https://api.anthropic.com.evil.com/v1" }, { wire: "chat_completions", upgraded: false }],
  [{ baseUrl: "https://notapi.openai.com/v1" }, { wire: "chat_completions", upgraded: false }],
  [{ baseUrl: "https://bedrock-runtime.eu-west-1.amazonaws.com" }, { wire: "bedrock_converse", upgraded: false }],
  [{ baseUrl: "https://bedrock-runtime.a.amazonaws.com.evil.com" }, { wire: "chat_completions", upgraded: false }],
  [{ provider: "bedrock" }, { wire: "bedrock_converse", provider: "bedrock", upgraded: false }],
  [
    { provider: "gemini", baseUrl: "https://generativelanguage.googleapis.com/v1beta" },
    { wire: "gemini_native", provider: "gemini", upgraded: false },
  ],
  [
    { provider: "gemini", baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai/" },
    { wire: "chat_completions", provider: "gemini", upgraded: false },
  ],
  [
    { provider: "gemini", baseUrl: CUSTOM },
    { wire: "chat_completions", provider: "gemini", upgraded: false },
  ],
  [
    { baseUrl: OPENAI, model: "gpt-5.2" },
    { wire: "codex_responses", upgraded: true },
  ],
  [
    { baseUrl: OPENAI, model: "gpt-4.1" },
    { wire: "codex_responses", upgraded: true },
  ],
  [
    { apiMode: "chat_completions", baseUrl: OPENAI, model: "gpt-5.2" },
    { wire: "chat_completions", upgraded: false },
  ],
  [
    { baseUrl: "https://openrouter.ai/api/v1", model: "openai/GPT-5.2" },
    { wire: "codex_responses", upgraded: true },
  ],
  [
    { baseUrl: CUSTOM, model: "gpt-5-local" },
    { wire: "codex_responses", upgraded: true },
  ],
  [
    { baseUrl: "https://x.openai.azure.com/openai/v1", model: "gpt-5" },
    { wire: "chat_completions", upgraded: false },
  ],
  [
    { provider: "nous", model: "gpt-5" },
    { wire: "chat_completions", provider: "nous", upgraded: false },
  ],
  [
    { baseUrl: "acp://copilot", model: "gpt-5" },
    { wire: "chat_completions", upgraded: false },
  ],
  [
    { provider: "copilot-acp", model: "gpt-5" },
    { wire: "chat_completions", provider: "copilot-acp", upgraded: false },
  ],
  [
    { provider: "copilot", model: "gpt-5-mini" },
    { wire: "chat_completions", provider: "copilot", upgraded: false },
  ],
  [
    { provider: "copilot", model: "gpt-5.2" },
    { wire: "codex_responses", provider: "copilot", upgraded: true },
  ],
  [{ baseUrl: "http://localhost:11434/v1" }, { wire: "chat_completions", upgraded: false }],
  [{ baseUrl: "not a url" }, { wire: "chat_completions", upgraded: false }],
]

test.each(VECTORS)("%j", (question, expected) => {
  expect(detectWire({ baseUrl: CUSTOM, model: "some-model", ...question })).toEqual(expected)
})
