import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { startModelServer } from "../../../test/support/model-server/server.ts"
import { loadHome, type LoadedHome } from "../loaded-home.ts"
import { findModelProvider, providerAccess, type ProviderAccess } from "./model-providers.ts"
import { listOfferedModels, resolveOfferedModel } from "./offered-models.ts"
import { refreshModelLists } from "./refresh-model-lists.ts"
import { saveModelChoice } from "./save-model-choice.ts"
import { parseServerAddress } from "./server-address.ts"
import { serverKeyVariable } from "./store-provider-key.ts"

const options = { version: "0", signal: new AbortController().signal }

function provider(name: string) {
  const found = findModelProvider(name)
  if (found === undefined) throw new Error(`no provider ${name}`)
  return found
}

describe("access to a provider", () => {
  const accessOf = (home: LoadedHome, name: string): ProviderAccess => providerAccess(home, provider(name))

  test("depends on the key, the login or the address that is missing", async () => {
    using context = createTestHomeContext({}, { ANTHROPIC_API_KEY: "sk-0123456789" })
    const home = await loadHome(context)
    const names = ["anthropic", "deepseek", "minimax-oauth", "custom", "azure-openai", "mistral", "vertex"]
    expect(names.map((name) => accessOf(home, name))).toEqual([
      { kind: "ready", keySource: "ANTHROPIC_API_KEY" },
      { kind: "needs-key", variable: "DEEPSEEK_API_KEY" },
      { kind: "needs-login" },
      { kind: "needs-address" },
      { kind: "needs-address" },
      { kind: "needs-key", variable: "MISTRAL_API_KEY" },
      { kind: "needs-variable", message: expect.stringContaining("GOOGLE_CLOUD_PROJECT") as string },
    ])
  })

  test("ignores a key that was removed", async () => {
    const removed = JSON.stringify({ suppressed_sources: { anthropic: ["env:ANTHROPIC_API_KEY"] } })
    using context = createTestHomeContext({ "auth.json": removed }, { ANTHROPIC_API_KEY: "sk-0123456789" })
    expect(accessOf(await loadHome(context), "anthropic").kind).toBe("needs-key")
  })
})

test("offered models come from the endpoint, then from the cached list", async () => {
  using context = createTestHomeContext()
  const home = await loadHome(context)
  const server = await startModelServer([], { models: ["alpha", "beta"] })
  const source = { ...options, provider: provider("custom"), endpoint: { baseUrl: `${server.url}/v1` } }
  const fresh = await listOfferedModels(home, source)
  await server.close()
  const cached = await listOfferedModels(home, source)
  expect([fresh.models.map(({ id }) => id), fresh.problem]).toEqual([["alpha", "beta"], undefined])
  expect([cached.models.map(({ id }) => id), typeof cached.problem]).toEqual([["alpha", "beta"], "string"])
})

test("a typed name is an alias, a listed model or any other name", () => {
  const offered = [{ id: "claude-sonnet-4-5" }, { id: "claude-sonnet-4-6" }]
  const resolved = ["sonnet", "claude-sonnet-4-5", "claude-new-9.9"].map((typed) => {
    const { model, isListed } = resolveOfferedModel(typed, { provider: provider("anthropic"), offered })
    return [model.id, isListed]
  })
  expect(resolved).toEqual([
    ["claude-sonnet-4-6", true],
    ["claude-sonnet-4-5", true],
    ["claude-new-9-9", false],
  ])
})

test("an exact name wins over an alias", () => {
  const offered = [{ id: "o3" }, { id: "o3-pro" }, { id: "openai/gpt-oss-120b" }]
  const resolved = ["o3", "openai/gpt-oss-120b"].map(
    (typed) => resolveOfferedModel(typed, { provider: provider("openai-api"), offered }).model.id,
  )
  expect(resolved).toEqual(["o3", "openai/gpt-oss-120b"])
})

test("every list is refreshed, and a failure is reported along with the successes", async () => {
  await using server = await startModelServer([], { models: ["one", "two"] })
  const variables = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${server.url}/v1` }
  using context = createTestHomeContext({ "config.yaml": "model_catalog:\n  url: ftp://example\n" }, variables)
  expect(await refreshModelLists(await loadHome(context), options)).toEqual({
    manifest: {
      source: 'model_catalog.url ("ftp://example")',
      contains: "provider",
      count: { ok: false, error: "is not an http(s) address" },
    },
    providers: [{ source: "openai-api", contains: "model", count: { ok: true, value: 2 } }],
  })
})

test("saving a choice removes the settings of the previous provider and warns about a small context window", async () => {
  using context = createTestHomeContext({
    "config.yaml": "model:\n  provider: custom\n  default: x\n  base_url: http://old/v1\n  context_length: 5\n",
  })
  const choice = {
    provider: provider("deepseek"),
    model: { id: "deepseek-flash", contextLength: 4096 },
    baseUrl: undefined,
    fromLocalServer: false,
  }
  expect(await saveModelChoice(await loadHome(context), choice)).toEqual({
    ok: true,
    value: [expect.stringContaining("4096") as string],
  })
  expect(readFileSync(context.home.file("config.yaml"), "utf8")).toMatch(
    /model:\n {2}provider: deepseek\n {2}default: deepseek-flash\n$/,
  )
})

test("the key of a custom server does not overwrite the key of a vendor", () => {
  expect(serverKeyVariable(provider("custom"))).not.toBe("OPENAI_API_KEY")
})

test.each([
  ["http://127.0.0.1:8000/v1//", "http://127.0.0.1:8000/v1"],
  ["nowhere", undefined],
  ["http:///v1", undefined],
  ["ftp://host/v1", undefined],
])("the address %s", (text, address) => {
  expect(parseServerAddress(text)).toBe(address)
})
