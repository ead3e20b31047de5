import { describe, expect, test } from "vitest"

import { loadCatalog } from "./catalog.ts"
import {
  builtInAliases,
  findAliasedModel,
  findUserAlias,
  modelNameFor,
  newestModel,
  parseModelArgument,
  resolveAlias,
  splitProviderPrefix,
  toolUseWarning,
} from "./model-names.ts"
import type { Provider } from "../provider.ts"
import { findProvider } from "../providers.ts"

function provider(id: string): Provider {
  const found = findProvider(id)
  if (found === undefined) throw new Error(`no provider ${id}`)
  return found
}

describe("the newest of a family", () => {
  test.each<[string, string[], string | undefined]>([
    [
      "claude-sonnet",
      ["claude-sonnet-3.7", "claude-sonnet-4", "claude-sonnet-4.5", "claude-sonnet-4.6", "claude-sonnet-4-20250514"],
      "claude-sonnet-4.6",
    ],
    ["gpt-5", ["gpt-5", "gpt-5.4", "gpt-5.5", "gpt-5-mini"], "gpt-5.5"],
    ["claude-sonnet", ["claude-sonnet-4-20250514", "claude-sonnet-4-5-20250929"], "claude-sonnet-4-5-20250929"],
    ["claude-sonnet", ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5"], "claude-sonnet-4-5"],
    ["claude", ["claude-opus-4-8", "claude-haiku-5-5", "claude-3-opus-20240229"], "claude-haiku-5-5"],
    ["gpt", ["gpt-4o-2024-11-20", "gpt-4.1", "gpt-oss-120b", "gptx-9"], "gpt-4.1"],
    ["gemini", ["gemini-3.1-flash-lite", "gemini-3.1-pro-preview", "gemini-3-pro"], "gemini-3.1-pro-preview"],
    ["kimi", ["kimi-k2-0905", "kimi-k2.6", "kimi-k3"], "kimi-k3"],
    ["deepseek", ["deepseek-chat", "deepseek-v4-pro", "deepseek-v4-flash-0731"], "deepseek-v4-pro"],
    ["llama", ["llama-3.3-70b-instruct", "llama-4-scout", "llama-3.1-405b"], "llama-4-scout"],
    ["qwen", ["qwen3-235b-a22b-2507", "qwen3.6-plus", "qwen-max"], "qwen3.6-plus"],
    ["gpt-5", ["gpt-5-2025-08-07", "gpt-5-2025-10-01"], "gpt-5-2025-10-01"],
    ["minimax", ["MiniMax-M2.7", "MiniMax-M3"], "MiniMax-M3"],
    ["claude-sonnet", ["gpt-5"], undefined],
  ])("%s of %j is %s", (prefix, models, newest) => {
    expect(newestModel(models, prefix)).toBe(newest)
    expect(newestModel(models.toReversed(), prefix)).toBe(newest)
  })

  test("an alias resolves to the provider's models", async () => {
    const catalog = await loadCatalog()
    const at = (id: string, alias: string): string | undefined =>
      resolveAlias(alias, { provider: provider(id), models: catalog.list(id) })
    expect([
      at("anthropic", "Sonnet"),
      at("openrouter", "sonnet"),
      at("openai-api", "codex"),
      at("xai", "sonnet"),
    ]).toEqual(["claude-sonnet-5-5", "anthropic/claude-sonnet-5.5", "gpt-5.3-codex", undefined])
    expect(at("anthropic", "toString")).toBeUndefined()
  })

  test("most aliases resolve at an aggregator", async () => {
    const models = (await loadCatalog()).list("openrouter")
    const nothing = builtInAliases().filter(
      (alias) => resolveAlias(alias, { provider: provider("openrouter"), models }) === undefined,
    )
    expect(nothing.length).toBeLessThan(4)
  })
})

describe("the argument of /model", () => {
  const none = { model: undefined, provider: undefined, global: false, refresh: false }

  test.each([
    ["", none],
    ["sonnet --global", { ...none, model: "sonnet", global: true }],
    ["--provider my-ollama", { ...none, provider: "my-ollama" }],
    ["—provider x y", { ...none, provider: "x", model: "y" }],
    ["–global −refresh", { ...none, global: true, refresh: true }],
    ["zai:glm-5", { ...none, provider: "zai", model: "glm-5" }],
    ["qwen3:14b", { ...none, model: "qwen3:14b" }],
    ["deepseek/deepseek-r1:free", { ...none, model: "deepseek/deepseek-r1:free" }],
    ["zai:glm-5 --provider openrouter", { ...none, provider: "openrouter", model: "zai:glm-5" }],
  ])("%j", (text, expected) => {
    expect(parseModelArgument(text)).toEqual({ ok: true, value: expected })
  })

  test.each([
    ["--provider", "name a provider after --provider"],
    ["a b", 'name one model, not "a b"'],
    ["a --fast", "/model has no option --fast; it accepts --provider, --global and --refresh"],
  ])("%j is refused", (text, error) => {
    expect(parseModelArgument(text)).toEqual({ ok: false, error })
  })

  test("a provider of the settings is named with custom:", () => {
    const isProvider = (name: string): boolean => ["custom", "custom:box", "box"].includes(name)
    expect(splitProviderPrefix("custom:box:qwen3:14b", isProvider)).toEqual({
      provider: "custom:box",
      model: "qwen3:14b",
    })
    expect(splitProviderPrefix("custom:box", isProvider)).toEqual({ provider: "custom:box", model: undefined })
    expect(splitProviderPrefix("custom:tiny", isProvider)).toEqual({ provider: "custom", model: "tiny" })
    expect(splitProviderPrefix("box:qwen3:14b", isProvider)).toEqual({ provider: "box", model: "qwen3:14b" })
  })
})

describe("a model's name at a provider", () => {
  test.each([
    ["anthropic", "anthropic/claude-opus-4.7", "claude-opus-4-7"],
    ["anthropic", "claude-3.5-sonnet", "claude-3-5-sonnet"],
    ["openai-api", "openai/gpt-4.1", "gpt-4.1"],
    ["openai-codex", "openai/gpt-5.5", "gpt-5.5"],
    ["gemini", "google/gemini-2.5-pro", "gemini-2.5-pro"],
    ["gemini", "models/gemini-2.5-pro", "gemini-2.5-pro"],
    ["deepseek", "deepseek/deepseek-r1", "deepseek-reasoner"],
    ["deepseek", "deepseek-v4-pro", "deepseek-v4-pro"],
    ["deepseek", "deepseek-coder", "deepseek-chat"],
    ["xiaomi", "xiaomi/MiMo-V2.5", "mimo-v2.5"],
    ["huggingface", "Qwen/Qwen3-Coder", "Qwen/Qwen3-Coder"],
    ["opencode-zen", "claude-sonnet-4.6", "claude-sonnet-4-6"],
    ["opencode-zen", "gpt-5.5", "gpt-5.5"],
    ["openrouter", "claude-sonnet-4.6", "anthropic/claude-sonnet-4.6"],
    ["openrouter", "anthropic:claude-sonnet-4.6", "anthropic/claude-sonnet-4.6"],
    ["openrouter", "google/gemma-3:free", "google/gemma-3:free"],
    ["openrouter", "unknown-model", "unknown-model"],
    ["copilot", "gpt-5.2", "gpt-5.2"],
    ["custom", "qwen3:14b", "qwen3:14b"],
    ["custom", "openai/gpt-oss", "openai/gpt-oss"],
  ])("%s: %s is %s", (id, typed, name) => {
    expect(modelNameFor(provider(id), typed)).toBe(name)
  })
})

describe("user aliases", () => {
  const settings = {
    modelAliases: {
      Fast: { model: "qwen3:4b", provider: "custom", base_url: "http://box/v1" },
      broken: 5,
      box: { model: "m", base_url: "http://box/v1", key_env: "BOX_KEY" },
    },
    shortAliases: { fast: "openrouter/x/y", sonnet: "anthropic/claude-sonnet-4-6", vendor: "meta-llama/llama-4" },
  }

  test.each([
    ["FAST", { model: "qwen3:4b", provider: "custom", baseUrl: "http://box/v1" }],
    ["sonnet", { model: "claude-sonnet-4-6", provider: "anthropic" }],
    ["vendor", { model: "meta-llama/llama-4" }],
    ["qwen3:4b", undefined],
    ["box", { model: "m", provider: "custom", baseUrl: "http://box/v1", keyVariable: "BOX_KEY" }],
    ["broken", undefined],
    ["other", undefined],
  ])("%s", (name, expected) => {
    expect(findUserAlias(name, settings)).toEqual(expected)
  })

  test("are also found by the full name of their model", () => {
    expect(findAliasedModel("QWEN3:4b", settings)).toEqual({
      model: "qwen3:4b",
      provider: "custom",
      baseUrl: "http://box/v1",
    })
    expect(findAliasedModel("fast", settings)).toBeUndefined()
  })

  test("may be absent", () => {
    expect(findUserAlias("x", { modelAliases: undefined, shortAliases: "x" })).toBeUndefined()
  })
})

test.each([
  ["Hermes-4-405B", true],
  ["nousresearch/hermes-3-llama-3.1-70b", true],
  ["hermes-agent-5", false],
  ["gpt-5", false],
])("%s warns about tools: %s", (model, warns) => {
  expect(toolUseWarning(model) !== undefined).toBe(warns)
})
