import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

import { environmentFrom } from "../config/environment.ts"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import { homeAt } from "../config/home.ts"
import type { Home } from "../config/home.ts"
import { loadConfig } from "../config/load-config.ts"
import type { SettingKey } from "../config/settings.ts"
import { rememberWindow } from "./catalog/context-window-cache.ts"
import { chooseModel } from "./choose-model.ts"
import type { ModelSelection } from "./choose-model.ts"
import { DEMO_RUNTIME } from "./demo/runtime.ts"

describe("without a selection", () => {
  test("chooses the demo model and marks it as default when nothing is configured", async () => {
    expect(await choose({})).toEqual({
      ok: true,
      value: {
        runtime: DEMO_RUNTIME,
        key: undefined,
        usesPool: false,
        headers: {},
        extraBody: {},
        usesDefaultEndpoint: true,
        windowIsGuess: false,
        timeouts: {},
        wireAssumed: false,
        demoByDefault: true,
      },
    })
  })

  test.each([
    [{ "model.default": "gpt-5" }, /no provider is configured for the model "gpt-5".*`hermes model`/],
    [{ "model.api_key": "sk-1" }, /`model\.api_key` is set, but no provider/],
    [
      { providers: { box: { api: "http://h/v1" } } },
      /`providers` lists box: .*`hermes config set model\.provider box`/,
    ],
  ])("%j is incomplete, so the demo does not answer", async (settings, message) => {
    expect(await choose({ settings })).toMatchObject({
      ok: false,
      error: { code: "no_provider_configured", message: expect.stringMatching(message) },
    })
  })

  test.each([
    [{ GOOGLE_GENAI_USE_VERTEXAI: "true" }, /GOOGLE_CLOUD_PROJECT/],
    [{ AZURE_OPENAI_API_KEY: "k" }, /AZURE_OPENAI_ENDPOINT/],
  ])("%j names no account, so the demo does not answer", async (variables, message) => {
    expect(await choose({ variables })).toMatchObject({
      ok: false,
      error: { code: "bad_address", message: expect.stringMatching(message) },
    })
  })

  test.each([
    ["a key of OpenRouter", { OPENROUTER_API_KEY: "k1" }, "openrouter", "OPENROUTER_API_KEY", "k1"],
    ["a key of OpenAI", { OPENAI_API_KEY: "k2" }, "openai-api", "OPENAI_API_KEY", "k2"],
    ["both", { OPENAI_API_KEY: "k2", OPENROUTER_API_KEY: "k1" }, "openrouter", "OPENROUTER_API_KEY", "k1"],
    ["a key of another provider", { DEEPSEEK_API_KEY: "k3" }, "deepseek", "DEEPSEEK_API_KEY", "k3"],
    ["the second name of a key", { ZAI_API_KEY: " k4 " }, "zai", "ZAI_API_KEY", "k4"],
  ])("%s chooses its provider", async (_name, variables, provider, credentialSource, key) => {
    expect(await choose({ variables })).toMatchObject({
      ok: true,
      value: { runtime: { provider, credentialSource, billingMode: "metered" }, key, demoByDefault: false },
    })
  })

  test.each(["", "  ", "your-key", "changeme", "***", "None"])("the placeholder %j is not a key", async (key) => {
    expect(await choose({ variables: { OPENROUTER_API_KEY: key } })).toMatchObject({ value: { demoByDefault: true } })
  })

  test("an address in the settings works without a key", async () => {
    const settings = {
      "model.base_url": "http://127.0.0.1:8080/v1/",
      "model.default": "tiny",
      "model.context_length": 4096,
    }
    expect(await choose({ settings })).toEqual({
      ok: true,
      value: {
        runtime: {
          provider: "custom",
          model: "tiny",
          wire: "chat_completions",
          baseUrl: "http://127.0.0.1:8080/v1",
          contextLength: 4096,
          credentialSource: "none needed",
          billingMode: "local",
        },
        key: undefined,
        usesPool: false,
        headers: {},
        extraBody: {},
        maxTokensDefault: 65_536,
        usesDefaultEndpoint: false,
        windowIsGuess: false,
        timeouts: {},
        wireAssumed: false,
        demoByDefault: false,
      },
    })
  })
})

describe("a selection", () => {
  test.each([
    ["openai", "openai-api"],
    ["OR", "openrouter"],
    ["openrouter", "openrouter"],
  ])("%s resolves to %s", async (provider, id) => {
    const variables = { OPENAI_API_KEY: "k", OPENROUTER_API_KEY: "k" }
    expect(await choose({ selection: { provider, model: "m" }, variables })).toMatchObject({
      value: { runtime: { provider: id, model: "m" } },
    })
  })

  test("the demo can be selected even when a key exists", async () => {
    expect(await choose({ selection: { provider: "demo" }, variables: { OPENAI_API_KEY: "k" } })).toMatchObject({
      value: { runtime: DEMO_RUNTIME, demoByDefault: false },
    })
  })

  test("a provider of the settings has its own address, key and model", async () => {
    const settings = { providers: { den: { api: "http://den.local:9/v1", key_env: "DEN_KEY", default_model: "m" } } }
    for (const provider of ["den", "custom:den"]) {
      expect(
        await choose({ selection: { provider }, settings, variables: { DEN_KEY: "k", OPENAI_API_KEY: "other" } }),
      ).toMatchObject({
        value: { runtime: { provider: "den", model: "m", baseUrl: "http://den.local:9/v1" }, key: "k" },
      })
    }
  })

  test("a key is not sent to a host of another provider", async () => {
    const settings = { "model.provider": "openrouter", "model.base_url": "https://elsewhere.example/v1" }
    expect(await choose({ settings, variables: { OPENROUTER_API_KEY: "k" } })).toMatchObject({
      ok: false,
      error: { code: "missing_key" },
    })
  })

  test.each<[string, Parameters<typeof choose>[0], string, RegExp]>([
    ["an unknown name", { selection: { provider: "openruter" } }, "unknown_provider", /did you mean openrouter\?/],
    ["a missing key", { selection: { provider: "openrouter" } }, "missing_key", /hermes config set OPENROUTER_API_KEY/],
    ["no address", { selection: { provider: "custom" } }, "bad_address", /hermes config set model\.base_url/],
    [
      "a provider of the settings without an address",
      { selection: { provider: "den" }, settings: { providers: { den: { default_model: "m" } } } },
      "bad_address",
      /hermes config set providers\.den\.base_url/,
    ],
    [
      "a provider of the settings with an invalid address",
      { selection: { provider: "den" }, settings: { providers: { den: { api: "den.local/v1" } } } },
      "bad_address",
      /"den\.local\/v1" is not .*hermes config set providers\.den\.base_url/,
    ],
    [
      "a program that is not a server",
      { selection: { provider: "copilot-acp" } },
      "bad_address",
      /--provider copilot`/,
    ],
    ["a bad address", { settings: { "model.base_url": "ftp://x" } }, "bad_address", /"ftp:\/\/x" is not an http/],
    ["no model", { settings: { "model.base_url": "http://127.0.0.1:1/v1" } }, "missing_model", /--model/],
  ])("%s fails with a message that names the fix", async (_name, given, code, sentence) => {
    const chosen = await choose(given)
    expect(chosen).toMatchObject({ ok: false, error: { code } })
    expect(chosen.ok ? "" : chosen.error.message).toMatch(sentence)
  })
})

describe("settings of a provider and its models", () => {
  const den = (entry: object) => ({
    providers: { den: { api: "http://den.local:9/v1", default_model: "m", ...entry } },
  })

  test.each([
    ["nothing", {}, { contextLength: 8192, windowIsGuess: true, timeouts: {} }],
    [
      "the provider's window",
      { context_length: 50_000 },
      { contextLength: 50_000, windowIsGuess: false, timeouts: {} },
    ],
    [
      "the model's setting before the provider's",
      { context_length: 50_000, models: { m: { context_length: 9000 } } },
      { contextLength: 9000, windowIsGuess: false, timeouts: {} },
    ],
    [
      "times",
      { request_timeout_seconds: 40, stale_timeout_seconds: 20 },
      { contextLength: 8192, windowIsGuess: true, timeouts: { requestSeconds: 40, staleSeconds: 20 } },
    ],
    [
      "the model's timeout before the provider's; invalid values are ignored",
      { request_timeout_seconds: 40, stale_timeout_seconds: "soon", models: { m: { timeout_seconds: 7 } } },
      { contextLength: 8192, windowIsGuess: true, timeouts: { requestSeconds: 7 } },
    ],
  ])("%s", async (_name, entry, expected) => {
    const chosen = await choose({ selection: { provider: "den" }, settings: den(entry) })
    const value = chosen.ok ? chosen.value : undefined
    expect({
      contextLength: value?.runtime.contextLength,
      windowIsGuess: value?.windowIsGuess,
      timeouts: value?.timeouts,
    }).toEqual(expected)
  })

  test("headers of the settings override built-in headers of a provider", async () => {
    const settings = { providers: { nvidia: { headers: { "X-Team": "blue", "X-BILLING-Invoke-Origin": "me", n: 1 } } } }
    expect(
      await choose({ selection: { provider: "nvidia", model: "m" }, settings, variables: { NVIDIA_API_KEY: "k" } }),
    ).toMatchObject({ value: { headers: { "x-team": "blue", "x-billing-invoke-origin": "me" } } })
  })

  test("the cached context window is used unless the settings set one", async () => {
    await using testHome = await temporaryHome()
    const home = homeAt(testHome.path, environmentFrom({}))
    const server = { "model.base_url": "http://127.0.0.1:8080/v1/", "model.default": "tiny" }
    rememberWindow(home, { model: "tiny", baseUrl: "http://127.0.0.1:8080/v1", tokens: 12_345 })
    const windowOf = async (settings: object) => {
      const chosen = await choose({ settings: { ...server, ...settings }, home })
      return chosen.ok ? [chosen.value.runtime.contextLength, chosen.value.windowIsGuess] : undefined
    }
    expect(await windowOf({})).toEqual([12_345, false])
    expect(await windowOf({ "model.default": "other" })).toEqual([8192, true])
    expect(await windowOf({ "model.context_length": 700 })).toEqual([700, false])
  })
})

async function choose(given: {
  readonly selection?: ModelSelection
  readonly settings?: Partial<Record<SettingKey, unknown>>
  readonly variables?: Readonly<Record<string, string>>
  readonly stored?: readonly string[]
  readonly home?: Home
}) {
  const environment = environmentFrom({ HOME: "/nonexistent", ...given.variables })
  const home = homeAt("/nonexistent/.hermes", environment)
  const config = await loadConfig({ home, environment, invocation: given.settings ?? {} })
  return chooseModel(given.selection ?? {}, {
    config,
    environment,
    storedProviders: given.stored ?? [],
    ...(given.home === undefined ? {} : { home: given.home }),
  })
}

describe("the wire", () => {
  test.each<[string, Parameters<typeof choose>[0], string, boolean]>([
    ["Anthropic has its own", { variables: { ANTHROPIC_API_KEY: "k" } }, "anthropic_messages", false],
    ["Gemini has its own", { variables: { GEMINI_API_KEY: "k" } }, "gemini_native", false],
    ["xAI speaks Responses", { variables: { XAI_API_KEY: "k" } }, "codex_responses", false],
    ["Bedrock has its own", { variables: { AWS_ACCESS_KEY_ID: "a" } }, "bedrock_converse", false],
    [
      "GPT-5 is assumed to speak Responses",
      { selection: { model: "gpt-5.2" }, variables: { OPENAI_API_KEY: "k" } },
      "codex_responses",
      true,
    ],
    [
      "a setting decides",
      {
        settings: {
          "model.base_url": "http://127.0.0.1:1/v1",
          "model.default": "gpt-5",
          "model.api_mode": "chat_completions",
        },
      },
      "chat_completions",
      false,
    ],
  ])("%s", async (_name, given, wire, wireAssumed) => {
    expect(await choose(given)).toMatchObject({ ok: true, value: { runtime: { wire }, wireAssumed } })
  })

  test("the configured region becomes part of the Bedrock host name", async () => {
    const variables = { AWS_ACCESS_KEY_ID: "a", AWS_REGION: "us-west-2" }
    const settings = { "bedrock.region": "eu-west-1" }
    expect(await choose({ variables })).toMatchObject({
      value: { runtime: { baseUrl: "https://bedrock-runtime.us-west-2.amazonaws.com" } },
    })
    expect(await choose({ variables, settings })).toMatchObject({
      value: { runtime: { baseUrl: "https://bedrock-runtime.eu-west-1.amazonaws.com" } },
    })
  })

  test("the region of the AWS profile becomes part of the Bedrock host name", async () => {
    await using temporary = await temporaryHome()
    const file = join(temporary.path, "aws-config")
    writeFileSync(file, "[default]\nregion = eu-north-1\n[profile work]\nregion = ap-south-1\n")
    const variables = { AWS_ACCESS_KEY_ID: "a", AWS_CONFIG_FILE: file }
    const home = homeAt(temporary.path, environmentFrom({ HOME: temporary.path }))
    expect(await choose({ variables, home })).toMatchObject({
      value: { runtime: { baseUrl: "https://bedrock-runtime.eu-north-1.amazonaws.com" } },
    })
    expect(await choose({ variables: { ...variables, AWS_PROFILE: "work" }, home })).toMatchObject({
      value: { runtime: { baseUrl: "https://bedrock-runtime.ap-south-1.amazonaws.com" } },
    })
  })

  test("a stored login chooses its provider and needs no key", async () => {
    expect(await choose({ stored: ["anthropic"] })).toMatchObject({
      ok: true,
      value: { runtime: { provider: "anthropic", credentialSource: "auth.json" }, key: undefined },
    })
  })
})

test("headers and context window of the settings apply only to the configured provider", async () => {
  const settings = {
    "model.provider": "openrouter",
    "model.default_headers": { "X-Secret": "mine" },
    "model.context_length": 5000,
  }
  const variables = { OPENROUTER_API_KEY: "k1", DEEPSEEK_API_KEY: "k2" }
  expect(await choose({ settings, variables })).toMatchObject({
    value: { runtime: { contextLength: 5000 }, headers: { "x-secret": "mine" } },
  })
  const other = await choose({ settings, variables, selection: { provider: "deepseek", model: "deepseek-chat" } })
  expect(other.ok && other.value.headers["x-secret"]).toBeUndefined()
  expect(other.ok && other.value.runtime.contextLength).not.toBe(5000)
})

describe("a key is sent only to its own provider", () => {
  test.each([
    [
      "the OpenAI key is not sent to an address of the settings",
      {
        variables: { OPENAI_API_KEY: "sk-openai" },
        settings: { "model.base_url": "https://other.example/v1", "model.default": "m" },
      },
      undefined,
    ],
    [
      "the key of the settings is not sent to another provider",
      {
        selection: { provider: "openrouter" },
        variables: { OPENROUTER_API_KEY: "sk-or" },
        settings: { "model.base_url": "https://other.example/v1", "model.api_key": "sk-own", "model.default": "m" },
      },
      "sk-or",
    ],
    [
      "a provider's key is not sent to a private address",
      {
        variables: { OPENROUTER_API_KEY: "sk-or" },
        settings: { "model.provider": "openrouter", "model.base_url": "http://10.0.0.5/v1", "model.default": "m" },
      },
      undefined,
    ],
    [
      "the OpenAI key is sent to OPENAI_BASE_URL",
      {
        selection: { provider: "custom", model: "m" },
        variables: { OPENAI_API_KEY: "sk-openai", OPENAI_BASE_URL: "https://proxy.example/v1" },
      },
      "sk-openai",
    ],
    [
      "a key of a provider's settings is not sent to the address of a fallback",
      {
        selection: { provider: "office", model: "m", baseUrl: "http://10.0.0.5/v1" },
        settings: { providers: { office: { base_url: "https://models.example/v1", api_key: "sk-office" } } },
      },
      undefined,
    ],
    [
      "a key of a provider's settings is sent to its own host on another path",
      {
        selection: { provider: "office", model: "m", baseUrl: "https://models.example/beta/v1" },
        settings: { providers: { office: { base_url: "https://models.example/v1", api_key: "sk-office" } } },
      },
      "sk-office",
    ],
    [
      "but not without encryption, or to another port",
      {
        selection: { provider: "office", model: "m", baseUrl: "http://models.example/v1" },
        settings: { providers: { office: { base_url: "https://models.example/v1", api_key: "sk-office" } } },
      },
      undefined,
    ],
    [
      "a key named with the address is sent there",
      {
        selection: { provider: "openrouter", model: "m", baseUrl: "https://other.example/v1", keyVariable: "OTHER" },
        variables: { OPENROUTER_API_KEY: "sk-or", OTHER: "sk-other" },
      },
      "sk-other",
    ],
    [
      "the alias of another provider does not redirect a request that names its provider",
      {
        selection: { provider: "openrouter", model: "big" },
        variables: { OPENROUTER_API_KEY: "sk-or" },
        settings: { model_aliases: { small: { model: "big", base_url: "https://other.example/v1" } } },
      },
      "sk-or",
    ],
    [
      "providers.<name>.base_url is an address of the provider, so its key is sent there",
      {
        selection: { provider: "openrouter", model: "m" },
        variables: { OPENROUTER_API_KEY: "sk-or" },
        settings: { providers: { openrouter: { base_url: "https://proxy.example/v1" } } },
      },
      "sk-or",
    ],
    [
      "the only key of a list is used",
      {
        selection: { provider: "openrouter", model: "m" },
        settings: { providers: { openrouter: { api_keys: ["sk-list"] } } },
      },
      "sk-list",
    ],
  ] as const)("%s", async (_name, given, key) => {
    expect(await choose(given)).toMatchObject({ ok: true, value: { key } })
  })
})

test.each<[string, Parameters<typeof choose>[0], string]>([
  [
    "for the address of a fallback or an alias",
    {
      selection: { provider: "openrouter", model: "m", baseUrl: "https://other.example/v1" },
      variables: { OPENROUTER_API_KEY: "sk-or" },
    },
    "no key applies to other.example: the keys of OpenRouter are sent only to openrouter.ai; name one next to the address, as key_env or api_key",
  ],
  [
    "for model.base_url",
    {
      settings: { "model.provider": "openrouter", "model.base_url": "https://other.example/v1", "model.default": "m" },
      stored: ["openrouter"],
    },
    "no key applies to other.example: the keys of OpenRouter are sent only to openrouter.ai; set a key for it with `hermes config set model.api_key …`",
  ],
  [
    "for a variable that is not set",
    { selection: { provider: "openrouter", model: "m", keyVariable: "SPARE" }, variables: { OPENROUTER_API_KEY: "k" } },
    "the variable SPARE, which should contain the key for OpenRouter, is not set",
  ],
])("the message says why no key applies: %s", async (_name, given, message) => {
  expect(await choose(given)).toEqual({ ok: false, error: { code: "missing_key", message } })
})

test.each([
  ["vertex", "https://other.example/v1", false],
  ["vertex", "http://10.0.0.5/v1", false],
  ["vertex", "https://europe-west4-aiplatform.googleapis.com/v1", true],
  ["bedrock", "https://other.example", false],
  ["bedrock", "https://bedrock-runtime.eu-west-1.amazonaws.com", true],
])("the cloud account for %s may be used at %s of a fallback: %s", async (provider, baseUrl, isAllowed) => {
  const chosen = await choose({ selection: { provider, model: "m", baseUrl } })
  expect(chosen.ok ? "" : chosen.error.code).toBe(isAllowed ? "" : "missing_key")
})

test("headers of a provider's settings are not sent to another address", async () => {
  const settings = {
    providers: { office: { base_url: "https://models.example/v1", headers: { "x-token": "secret" } } },
  }
  const headersAt = async (selection: ModelSelection) => {
    const chosen = await choose({ selection: { provider: "office", model: "m", ...selection }, settings })
    return chosen.ok ? chosen.value.headers : undefined
  }
  expect([await headersAt({}), await headersAt({ baseUrl: "https://other.example/v1" })]).toEqual([
    { "x-token": "secret" },
    {},
  ])
})

test("a stored key for a custom server is no reason to choose one without an address", async () => {
  expect(await choose({ stored: ["custom"], variables: { DEEPSEEK_API_KEY: "k" } })).toMatchObject({
    value: { runtime: { provider: "deepseek" } },
  })
})

test("an alias of the settings with an address and a key of its own", async () => {
  const settings = { model_aliases: { box: { model: "m", base_url: "https://box.example/v1", key_env: "BOX_KEY" } } }
  expect(await choose({ selection: { model: "box" }, settings, variables: { BOX_KEY: "k" } })).toMatchObject({
    value: { runtime: { provider: "custom", model: "m", baseUrl: "https://box.example/v1" }, key: "k" },
  })
})
