import { describe, expect, test } from "vitest"

import { auxiliarySettings } from "../../config/auxiliary-settings.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import type { SettingKey } from "../../config/settings.ts"
import { chooseModel } from "../choose-model.ts"
import type { ModelSelection } from "../choose-model.ts"
import { candidatesFor } from "./candidates.ts"

const LOCAL = { "model.base_url": "http://127.0.0.1:9/v1", "model.default": "tiny" }
const FLASH = "google/gemini-3-flash-preview"

describe("without a configured model", () => {
  test.each<[string, Given, readonly string[]]>([
    ["the main model alone, when there is nothing else", { settings: LOCAL, main: {} }, ["custom tiny"]],
    [
      "without a main model, every provider with a key",
      { variables: { GEMINI_API_KEY: "k" } },
      ["gemini gemini-3-flash-preview"],
    ],
    [
      "the main model, OpenRouter, Nous, Anthropic, then direct providers with their small models",
      {
        settings: LOCAL,
        main: {},
        variables: { ZAI_API_KEY: "z", GEMINI_API_KEY: "g", ANTHROPIC_API_KEY: "a", OPENROUTER_API_KEY: "o" },
        stored: ["nous"],
      },
      [
        "custom tiny",
        `openrouter ${FLASH}`,
        `nous ${FLASH}`,
        "anthropic claude-haiku-4-5-20251001",
        "gemini gemini-3-flash-preview",
        "zai glm-4.5-flash",
      ],
    ],
    [
      "the fallbacks of the task and of the main model come before guesses",
      {
        settings: {
          ...LOCAL,
          "auxiliary.compression": { fallback_chain: ["openrouter", { provider: "zai", model: "glm-5" }, 7, ""] },
          fallback_providers: [{ provider: "deepseek", model: "deepseek-reasoner" }, { provider: "no-model" }],
          fallback_model: { provider: "gemini", model: "g" },
        },
        main: {},
        variables: { OPENROUTER_API_KEY: "o", ZAI_API_KEY: "z", DEEPSEEK_API_KEY: "d", GEMINI_API_KEY: "g" },
      },
      [
        "custom tiny",
        `openrouter ${FLASH}`,
        "zai glm-5",
        "deepseek deepseek-reasoner",
        "gemini g",
        "gemini gemini-3-flash-preview",
        "deepseek deepseek-v4-pro",
        "zai glm-4.5-flash",
      ],
    ],
    [
      "a model without a provider uses the main provider",
      { settings: { ...LOCAL, "auxiliary.compression": { model: "small" } }, main: {} },
      ["custom small", "custom tiny"],
    ],
    ["a token of another program is not taken", { variables: { CLAUDE_CODE_OAUTH_TOKEN: "t" } }, []],
    ["nothing at all", {}, []],
  ])("%s", async (_name, given, expected) => {
    expect(await candidates("compression", given)).toEqual({ chosen: expected, explicit: false })
  })
})

describe("an image needs a model with vision", () => {
  const both = { OPENROUTER_API_KEY: "o", DEEPSEEK_API_KEY: "d", ZAI_API_KEY: "z", GEMINI_API_KEY: "g" }
  const local = (sees: boolean | null): Given => ({
    settings: { ...LOCAL, "model.supports_vision": sees },
    main: {},
    variables: both,
  })
  test.each<[string, Given, readonly string[]]>([
    [
      "the main model, when it has vision",
      { main: { provider: "gemini" }, variables: both },
      ["gemini gemini-2.5-pro", `openrouter ${FLASH}`],
    ],
    ["not a main model that does not", { main: { provider: "deepseek" }, variables: both }, [`openrouter ${FLASH}`]],
    [
      "the vision model of the same provider",
      { main: { provider: "zai" }, variables: both },
      ["zai glm-5v-turbo", `openrouter ${FLASH}`],
    ],
    ["the settings say that it sees", local(true), ["custom tiny", `openrouter ${FLASH}`]],
    ["unknown: after those that certainly have vision", local(null), [`openrouter ${FLASH}`, "custom tiny"]],
    ["the settings say that it does not", local(false), [`openrouter ${FLASH}`]],
  ])("%s", async (_name, given, expected) => {
    expect(await candidates("vision", given)).toEqual({ chosen: expected, explicit: false })
  })
})

describe("the settings name a model", () => {
  const task = (settings: object): Given => ({
    settings: {
      ...LOCAL,
      "auxiliary.compression": settings,
      providers: { den: { api: "http://127.0.0.1:7/v1", default_model: "cub" } },
    },
    main: {},
    variables: {
      OPENROUTER_API_KEY: "o",
      OPENAI_API_KEY: "a",
      OPENAI_BASE_URL: "http://127.0.0.1:5/v1",
      ZAI_API_KEY: "z",
    },
  })
  test.each<[string, Given, readonly string[]]>([
    ["a provider", task({ provider: "openrouter" }), [`openrouter ${FLASH}`, "custom tiny"]],
    [
      "a provider with fallbacks",
      task({ provider: "OpenRouter", model: "m", fallback_chain: [{ provider: "zai" }] }),
      ["openrouter m", "zai glm-4.5-flash", "custom tiny"],
    ],
    ["the main one", task({ provider: "main", model: "small" }), ["custom small"]],
    ["a provider of the settings", task({ provider: "custom:den" }), ["den cub", "custom tiny"]],
    ["an address", task({ base_url: "http://127.0.0.1:6/v1", model: "m" }), ["custom m", "custom tiny"]],
  ])("%s", async (_name, given, expected) => {
    expect(await candidates("compression", given)).toEqual({ chosen: expected, explicit: true })
  })

  test.each<[string, object, object]>([
    [
      "openai is OpenAI itself",
      { provider: "openai", model: "gpt-4.1-mini" },
      { runtime: { provider: "openai-api", baseUrl: "https://api.openai.com/v1" }, key: "a" },
    ],
    [
      "the configured key goes to the configured address",
      { base_url: "https://models.example/v1", model: "m", api_key: "own" },
      { runtime: { provider: "custom", baseUrl: "https://models.example/v1" }, key: "own" },
    ],
    [
      "a key of another provider does not",
      { base_url: "https://models.example/v1", model: "m" },
      { runtime: { provider: "custom" }, key: undefined },
    ],
    [
      "the address of the other wire is converted to that of Chat Completions",
      { base_url: "https://models.example/anthropic", model: "m", api_mode: "chat_completions" },
      { runtime: { baseUrl: "https://models.example/v1", wire: "chat_completions" } },
    ],
    [
      "also when it has another name",
      { base_url: "https://open.bigmodel.cn/api/anthropic/", model: "m", api_mode: "chat_completions" },
      { runtime: { baseUrl: "https://open.bigmodel.cn/api/paas/v4", wire: "chat_completions" } },
    ],
    [
      "context window and extra body",
      { provider: "openrouter", context_length: 5000, extra_body: { seed: 1 } },
      { runtime: { contextLength: 5000 }, extraBody: { seed: 1 } },
    ],
  ])("%s", async (_name, settings, expected) => {
    const { first } = await resolve("compression", task(settings))
    expect(first).toMatchObject(expected)
  })
})

interface Given {
  readonly settings?: Partial<Record<SettingKey, unknown>>
  readonly variables?: Readonly<Record<string, string>>
  readonly stored?: readonly string[]
  /** The selection of the main model; absent: there is none. */
  readonly main?: ModelSelection
}

async function candidates(task: string, given: Given) {
  const { chosen, explicit } = await resolve(task, given)
  return { chosen: [...new Set(chosen.map(({ runtime }) => `${runtime.provider} ${runtime.model}`))], explicit }
}

async function resolve(task: string, given: Given) {
  const environment = environmentFrom({ HOME: "/nonexistent", ...given.variables })
  const home = homeAt("/nonexistent/.hermes", environment)
  const config = await loadConfig({ home, environment, invocation: given.settings ?? {} })
  const choose = (selection: ModelSelection) =>
    chooseModel(selection, { config, environment, storedProviders: given.stored ?? [] })
  const main = given.main === undefined ? undefined : choose(given.main)
  if (main?.ok === false) throw new Error(main.error.message)
  const found = await candidatesFor(task, auxiliarySettings(config, task), { config, main: main?.value, choose })
  const chosen = found.candidates.flatMap((candidate) => {
    const result = candidate.choose()
    return result.ok ? [result.value] : []
  })
  return { chosen, first: chosen[0], explicit: found.explicit }
}
