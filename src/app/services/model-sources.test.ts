import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { TemporaryHomeOptions } from "../../../test/support/temporary-home.ts"
import { systemClock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveHome } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import { chooseModelFor, fallbackModels, openProviderPool } from "./model-sources.ts"

async function sourcesOf(options: TemporaryHomeOptions) {
  const testHome = await temporaryHome(options)
  const environment = environmentFrom(testHome.env)
  const home = resolveHome(environment)
  const config = await loadConfig({ home, environment })
  const log = createLogger({ sinks: [], redact: (text) => text })
  return {
    sources: { config, environment, home, clock: systemClock, log },
    [Symbol.asyncDispose]: () => testHome[Symbol.asyncDispose](),
  }
}

function authFile(pool: Readonly<Record<string, readonly object[]>>): string {
  return JSON.stringify({ version: 1, active_provider: null, providers: {}, credential_pool: pool })
}

const KEY = { id: "a1b2c3", label: "work", auth_type: "api_key", source: "manual", access_token: "stored-key-0001" }

test("a provider with stored keys is chosen without any setting or variable", async () => {
  await using found = await sourcesOf({ files: { "auth.json": authFile({ deepseek: [KEY] }) } })
  const chosen = chooseModelFor(found.sources, {})
  expect(chosen.ok && chosen.value).toMatchObject({
    runtime: { provider: "deepseek", credentialSource: "auth.json", billingMode: "metered" },
    key: undefined,
    usesPool: true,
  })
})

test("without stored keys a provider that needs one says which", async () => {
  await using found = await sourcesOf({})
  expect(chooseModelFor(found.sources, { provider: "deepseek" })).toMatchObject({
    ok: false,
    error: { code: "missing_key", message: expect.stringContaining("DEEPSEEK_API_KEY") as string },
  })
})

test("stored keys are handed out for their own provider only", async () => {
  await using found = await sourcesOf({ files: { "auth.json": authFile({ deepseek: [KEY] }) } })
  const own = await openProviderPool("deepseek", found.sources)
  expect([own?.size(), (await own?.select())?.secret]).toEqual([1, "stored-key-0001"])
  expect(await openProviderPool("anthropic", found.sources)).toBeUndefined()
})

test("an own endpoint has its stored keys under its own name", async () => {
  await using found = await sourcesOf({
    config: "providers:\n  acme:\n    base_url: https://models.example.com/v1\n",
    files: { "auth.json": authFile({ "custom:acme": [KEY] }) },
  })
  const pool = await openProviderPool("acme", found.sources)
  expect((await pool?.select())?.label).toBe("work")
})

test("without stored credentials there is no pool", async () => {
  await using found = await sourcesOf({ env: { DEEPSEEK_API_KEY: "from-the-environment" } })
  expect(await openProviderPool("deepseek", found.sources)).toBeUndefined()
})

test("several keys in the settings are a pool although no file manages them", async () => {
  await using found = await sourcesOf({
    config: `providers:\n  acme:\n    base_url: https://models.example.com/v1\n    api_keys: [first-key-0001, second-key-0002]\n`,
  })
  expect((await openProviderPool("acme", found.sources))?.size()).toBe(2)
})

test("fallback_providers keeps its order, and anything that is not an entry is skipped", async () => {
  await using found = await sourcesOf({
    config: `fallback_providers:
  - provider: custom
    model: near
    base_url: http://127.0.0.1:9/v1
    api_mode: anthropic_messages
  - just a word
  - provider: deepseek
  - provider: " deepseek "
    model: deepseek-chat
    key_env: SPARE_KEY
  - provider: anthropic
    model: claude-haiku-4-5
    api_key: key-of-the-entry
  - provider: unheard-of
    model: x
`,
    env: { SPARE_KEY: "spare-key-0001", DEEPSEEK_API_KEY: "the-usual-key" },
  })
  const chain = fallbackModels(found.sources).map((entry) => {
    const { name } = entry
    const chosen = entry.choose()
    return chosen.ok
      ? [name, chosen.value.runtime.wire, chosen.value.runtime.baseUrl, chosen.value.key]
      : [name, chosen.error.code]
  })
  expect(chain).toEqual([
    ["custom near", "anthropic_messages", "http://127.0.0.1:9/v1", undefined],
    ["deepseek deepseek-chat", "chat_completions", "https://api.deepseek.com/v1", "spare-key-0001"],
    ["anthropic claude-haiku-4-5", "anthropic_messages", "https://api.anthropic.com", "key-of-the-entry"],
    ["unheard-of x", "unknown_provider"],
  ])
})

test("settings for the first choice say nothing about a fallback at another address", async () => {
  await using found = await sourcesOf({
    config: `model:
  base_url: http://127.0.0.1:8/v1
  default: first
  api_key: key-of-the-first
  api_mode: anthropic_messages
fallback_providers:
  - provider: custom
    model: second
    base_url: http://127.0.0.1:9/v1
`,
  })
  const [entry] = fallbackModels(found.sources)
  const chosen = entry?.choose()
  expect(chosen?.ok === true && chosen.value).toMatchObject({
    runtime: { model: "second", wire: "chat_completions", baseUrl: "http://127.0.0.1:9/v1" },
    key: undefined,
    usesPool: false,
  })
})

test("the key variable of a fallback that is not set is no licence to take another key", async () => {
  await using found = await sourcesOf({
    config: "fallback_providers:\n  - provider: deepseek\n    model: deepseek-chat\n    key_env: SPARE_KEY\n",
    env: { DEEPSEEK_API_KEY: "the-usual-key" },
  })
  const chosen = fallbackModels(found.sources)[0]?.choose()
  expect(chosen?.ok === false && chosen.error.code).toBe("missing_key")
})
