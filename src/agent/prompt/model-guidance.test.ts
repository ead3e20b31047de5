import { expect, test } from "vitest"

import { familyGuidance, enforcesToolUse } from "./model-guidance.ts"
import type { ToolUseEnforcement } from "./model-guidance.ts"

test.each<[ToolUseEnforcement, string, boolean]>([
  ["auto", "openai/GPT-5", true],
  ["auto", "codex-mini", true],
  ["auto", "gemini-3-pro", true],
  ["auto", "gemma-4", true],
  ["auto", "grok-5", true],
  ["auto", "GLM-5", true],
  ["auto", "qwen3-coder", true],
  ["auto", "deepseek-chat", true],
  ["auto", "claude-opus-4-5", false],
  [true, "claude-opus-4-5", true],
  [false, "gpt-5", false],
  [["Opus"], "claude-opus-4-5", true],
  [["opus"], "gpt-5", false],
  [[], "gpt-5", false],
  [[""], "gpt-5", false],
])("enforcement %j for %s: %s", (enforcement, model, expected) => {
  expect(enforcesToolUse(enforcement, model)).toBe(expected)
})

test("models of one family get the same guidance, other families another or none", () => {
  expect(familyGuidance("gemma-4")).toBe(familyGuidance("google/gemini-3"))
  expect(familyGuidance("x-ai/grok-5")).toBe(familyGuidance("gpt-5"))
  expect(familyGuidance("claude")).toBe("")
  expect(new Set([familyGuidance("gemini"), familyGuidance("gpt"), familyGuidance("claude")]).size).toBe(3)
})
