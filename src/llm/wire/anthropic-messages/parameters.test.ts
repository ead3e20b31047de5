import { describe, expect, test } from "vitest"

import type { ModelRequest } from "../../model.ts"
import { anthropicModelName, anthropicParameters, maxOutputTokens } from "./parameters.ts"
import type { WireEndpoint } from "../wire.ts"

describe("model names", () => {
  test.each([
    ["claude-sonnet-4.5", "anthropic", "claude-sonnet-4-5"],
    ["anthropic/claude-opus-4.6", "anthropic", "claude-opus-4-6"],
    ["MiniMax-M2.5", "minimax", "MiniMax-M2.5"],
    ["MiniMax-M2.5", "custom", "MiniMax-M2.5"],
    ["claude-sonnet-4.5", "opencode-zen", "claude-sonnet-4.5"],
    ["claude-sonnet-4.5", "alibaba", "claude-sonnet-4.5"],
    ["claude-sonnet-4.5", "zai", "claude-sonnet-4.5"],
    ["claude-sonnet-4.5", "bedrock", "claude-sonnet-4.5"],
    ["claude-sonnet-4.5", "xiaomi", "claude-sonnet-4.5"],
    ["claude-sonnet-4.5", "zainab", "claude-sonnet-4-5"],
  ])("%s at %s is %s", (model, provider, expected) => {
    expect(anthropicModelName(model, endpointOf({ provider }))).toBe(expected)
  })
})

describe("max_tokens", () => {
  test.each([
    ["the most specific entry wins", "claude-opus-4-6", 128_000],
    ["a version without its own entry", "claude-opus-4-1", 32_000],
    ["a version with a dot", "claude-opus-4.7", 128_000],
    ["a date after the version", "claude-sonnet-4-20250514", 64_000],
    ["the version before the family", "claude-3.5-haiku", 8192],
    ["another vendor, in any letter case", "MiniMax-M2.5", 131_072],
    ["an unknown model", "something-else", 128_000],
  ])("default, %s: %s → %i", (_name, model, expected) => {
    expect(maxOutputTokens(model, undefined)).toBe(expected)
  })

  test.each([
    [2000, 2000],
    ["2000", 2000],
    ["abc", 32_000],
    ["", 32_000],
    [0, 32_000],
    [-5, 32_000],
    [1.5, 32_000],
    [Number.NaN, 32_000],
    [null, 32_000],
  ])("requested %j: %i", (requested, expected) => {
    expect(maxOutputTokens("claude-opus-4", requested)).toBe(expected)
  })

  test("is below the context length, if that is known", () => {
    expect(sent({ model: "qwen3" }, { contextLength: 8000 })).toMatchObject({ max_tokens: 7999 })
    expect(sent({ model: "qwen3" }, { contextLength: 0 })).toMatchObject({ max_tokens: 65_536 })
  })
})

describe("thinking", () => {
  const adaptive = (model: string, effort: string, max_tokens: number) => ({
    model,
    max_tokens,
    thinking: { type: "adaptive", display: "summarized" },
    output_config: { effort },
  })
  const budget = (model: string, budget_tokens: number, max_tokens: number) => ({
    model,
    max_tokens,
    thinking: { type: "enabled", budget_tokens },
    temperature: 1,
  })

  test.each<[Partial<ModelRequest>, unknown]>([
    [{ model: "claude-opus-4-6", effort: "xhigh" }, adaptive("claude-opus-4-6", "max", 128_000)],
    [{ model: "claude-sonnet-4.6", effort: "xhigh" }, adaptive("claude-sonnet-4-6", "max", 64_000)],
    [{ model: "claude-opus-4-6", effort: "minimal" }, adaptive("claude-opus-4-6", "low", 128_000)],
    [{ model: "claude-opus-4-6", effort: "medium", temperature: 0.3 }, adaptive("claude-opus-4-6", "medium", 128_000)],
    [{ model: "claude-opus-4-7", effort: "xhigh" }, adaptive("claude-opus-4-7", "xhigh", 128_000)],
    [{ model: "claude-fable", effort: "high" }, adaptive("claude-fable", "high", 128_000)],
    [{ model: "claude-opus-5", effort: "low" }, adaptive("claude-opus-5", "low", 128_000)],
    [{ model: "claude-opus-4-5", effort: "low", maxOutputTokens: 2000 }, budget("claude-opus-4-5", 4000, 8096)],
    [{ model: "claude-opus-4-5", effort: "xhigh" }, budget("claude-opus-4-5", 32_000, 64_000)],
    [{ model: "claude-opus-4-1", effort: "high" }, budget("claude-opus-4-1", 16_000, 32_000)],
    [{ model: "claude-opus-4-0", effort: "xhigh" }, budget("claude-opus-4-0", 32_000, 36_096)],
    [{ model: "claude-sonnet-4-20250514", effort: "medium" }, budget("claude-sonnet-4-20250514", 8000, 64_000)],
    [{ model: "claude-3-7-sonnet-latest", effort: "minimal" }, budget("claude-3-7-sonnet-latest", 4000, 128_000)],
    [{ model: "MiniMax-M2.5", effort: "high", temperature: 0.2 }, budget("MiniMax-M2.5", 16_000, 131_072)],
    [
      { model: "claude-haiku-4-5", effort: "high" },
      { model: "claude-haiku-4-5", max_tokens: 64_000 },
    ],
    [
      { model: "claude-opus-4-6", effort: "none" },
      { model: "claude-opus-4-6", max_tokens: 128_000 },
    ],
    [
      { model: "claude-opus-4-6", temperature: 0.3 },
      { model: "claude-opus-4-6", max_tokens: 128_000, temperature: 0.3 },
    ],
    [
      { model: "claude-opus-4-7", temperature: 0.3 },
      { model: "claude-opus-4-7", max_tokens: 128_000 },
    ],
    [
      { model: "claude-opus-4-10", temperature: 0.3 },
      { model: "claude-opus-4-10", max_tokens: 32_000 },
    ],
    [
      { model: "claude-opus-4-6", effort: "high", toolChoice: "required" },
      { model: "claude-opus-4-6", max_tokens: 128_000 },
    ],
  ])("%j", (request, expected) => {
    expect(sent(request)).toEqual(expected)
  })

  test("is off when the budget leaves no room for the answer", () => {
    expect(sent({ model: "qwen3", effort: "high" }, { contextLength: 8000 })).toEqual({
      model: "qwen3",
      max_tokens: 7999,
    })
  })

  test("Kimi gets no thinking parameter", () => {
    expect(sent({ model: "kimi-k2", effort: "high" }, { host: "api.kimi.com" })).toEqual({
      model: "kimi-k2",
      max_tokens: 128_000,
    })
  })
})

function sent(request: Partial<ModelRequest>, endpoint: Partial<WireEndpoint> = {}): Record<string, unknown> {
  return anthropicParameters({ model: "m", system: "", messages: [], tools: [], ...request }, endpointOf(endpoint))
}

function endpointOf(parts: Partial<WireEndpoint>): WireEndpoint {
  return {
    provider: "anthropic",
    baseUrl: "https://api.anthropic.com",
    host: "api.anthropic.com",
    contextLength: 200_000,
    ...parts,
  }
}
