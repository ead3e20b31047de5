import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

import { environmentFrom } from "../../config/environment.ts"
import { homeAt, type Home } from "../../config/home.ts"
import { startModelServer } from "../../../test/support/model-server/server.ts"
import { isFresh, readCachedList, storeList } from "./model-list-cache.ts"
import { parseManifest } from "./manifest.ts"
import { fetchModelList, parseModelList } from "./model-list.ts"

const signal = new AbortController().signal
const options = { version: "9.9.9", signal }

describe("fetching a list", () => {
  test.each([
    ["chat_completions", "/v1"],
    ["anthropic_messages", ""],
    ["gemini_native", "/v1beta"],
  ] as const)("uses the path of the wire %s", async (wire, path) => {
    await using server = await startModelServer([], { models: ["one", "two"] })
    const endpoint = { wire, baseUrl: `${server.url}${path}`, key: "k", headers: {} }
    expect(await fetchModelList(endpoint, options)).toEqual({ ok: true, value: [{ id: "one" }, { id: "two" }] })
  })

  test("reports why there is none", async () => {
    await using server = await startModelServer([])
    const at = (baseUrl: string) => ({ wire: "chat_completions" as const, baseUrl, key: undefined, headers: {} })
    expect(await fetchModelList(at(`${server.url}/elsewhere`), options)).toEqual({
      ok: false,
      error: "responded with HTTP 404",
    })
    expect(await fetchModelList({ ...at(server.url), wire: "bedrock_converse" }, options)).toEqual({
      ok: false,
      error: "has no model list",
    })
    const refused = await fetchModelList(at("http://127.0.0.1:1/v1"), options)
    expect(refused.ok ? "" : refused.error).toMatch(/^does not respond \(/)
  })
})

describe("list formats", () => {
  test("context windows and prices are read under every field name", () => {
    const entries = [
      {
        id: "a/b",
        context_length: 200_000,
        pricing: { prompt: "0.000003", completion: "0.000015", input_cache_read: "0.0000003", request: "0.01" },
      },
      { name: "models/gemini-x", inputTokenLimit: 1_048_576 },
      { id: "auto", pricing: { prompt: "-1", completion: "-1" } },
      { object: "model" },
      "text",
    ]
    expect(parseModelList({ data: entries })).toEqual([
      {
        id: "a/b",
        contextLength: 200_000,
        prices: {
          input: 3_000_000_000n,
          output: 15_000_000_000n,
          cacheRead: 300_000_000n,
          cacheWrite: null,
          request: 10_000_000n,
          source: "provider",
          version: "models list",
        },
      },
      { id: "gemini-x", contextLength: 1_048_576 },
      { id: "auto" },
    ])
  })

  test("prices per million tokens are recognised, because no token costs that much", () => {
    const [model] = parseModelList([{ id: "x", pricing: { input: 0.18, output: 0.59, cached_prompt: 0.001 } }]) ?? []
    expect(model?.prices).toMatchObject({ input: 180_000_000n, output: 590_000_000n, cacheRead: 1_000_000n })
  })

  test.each([[undefined], [null], ["text"], [{}], [{ error: "no" }]])("%j is not a list", (json) => {
    expect(parseModelList(json)).toBeUndefined()
  })
})

describe("the cache", () => {
  test("returns stored lists by base URL", () => {
    using testHome = temporaryHome()
    const models = parseModelList([
      { id: "x", context_length: 8192, pricing: { prompt: "0.00000012345", completion: 0, request: "0.002" } },
    ])!
    storeList(testHome.home, "https://a/v1", { models, fetchedAt: 5000 })
    storeList(testHome.home, "https://b/v1", { models: [{ id: "y" }], fetchedAt: 6000 })
    expect(readCachedList(testHome.home, "https://a/v1")).toEqual({ models, fetchedAt: 5000 })
    expect(readCachedList(testHome.home, "https://b/v1")).toEqual({ models: [{ id: "y" }], fetchedAt: 6000 })
    expect(readCachedList(testHome.home, "https://c/v1")).toBeUndefined()
  })

  test("is fresh for an hour", () => {
    const list = { models: [], fetchedAt: 1_000_000 }
    expect([999_999, 1_000_000, 4_599_999, 4_600_000].map((now) => isFresh(list, now))).toEqual([
      false,
      true,
      true,
      false,
    ])
  })

  test("a damaged file counts as empty and is replaced", () => {
    using testHome = temporaryHome()
    storeList(testHome.home, "https://a/v1", { models: [], fetchedAt: 1 })
    writeFileSync(testHome.home.file("cache", "model_lists.json"), "{")
    expect(readCachedList(testHome.home, "https://a/v1")).toBeUndefined()
    storeList(testHome.home, "https://a/v1", { models: [], fetchedAt: 2 })
    expect(readCachedList(testHome.home, "https://a/v1")).toEqual({ models: [], fetchedAt: 2 })
  })
})

describe("a manifest", () => {
  test("of version 1 names models by provider", () => {
    const json = {
      version: 1,
      providers: { zai: { models: [{ id: "a", description: "d" }, { id: "b" }] } },
    }
    expect(parseManifest(json)).toEqual({ models: { zai: ["a", "b"] } })
  })

  test.each([
    [{ version: 2, providers: {} }],
    [{ version: 1 }],
    [{ version: 1, providers: { zai: { models: [{ name: "a" }] } } }],
    [{ version: 1, providers: { zai: [] } }],
    ["text"],
  ])("%j is rejected", (json) => {
    expect(parseManifest(json)).toBeUndefined()
  })
})

function temporaryHome(): Disposable & { readonly home: Home } {
  const path = mkdtempSync(join(tmpdir(), "hermes-lists-"))
  return {
    home: homeAt(path, environmentFrom({ HOME: path })),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}
