import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

import { environmentFrom } from "../../config/environment.ts"
import { homeAt, type Home } from "../../config/home.ts"
import { startModelServer } from "../../../test/support/model-server/server.ts"
import { isFresh, readCachedList, storeList } from "./list-cache.ts"
import { parseManifest } from "./manifest.ts"
import { fetchModelList, parseModelList } from "./model-list.ts"

const signal = new AbortController().signal
const options = { version: "9.9.9", signal }

describe("a list from an endpoint", () => {
  test.each([
    ["chat_completions", "/v1"],
    ["anthropic_messages", ""],
    ["gemini_native", "/v1beta"],
  ] as const)("is asked for in the manner of %s", async (wire, path) => {
    await using server = await startModelServer([], { models: ["one", "two"] })
    const place = { wire, baseUrl: `${server.url}${path}`, key: "k", headers: {} }
    expect(await fetchModelList(place, options)).toEqual({ ok: true, value: [{ id: "one" }, { id: "two" }] })
  })

  test("says why there is none", async () => {
    await using server = await startModelServer([])
    const at = (baseUrl: string) => ({ wire: "chat_completions" as const, baseUrl, key: undefined, headers: {} })
    expect(await fetchModelList(at(`${server.url}/elsewhere`), options)).toEqual({
      ok: false,
      error: "answers with code 404",
    })
    expect(await fetchModelList({ ...at(server.url), wire: "bedrock_converse" }, options)).toEqual({
      ok: false,
      error: "has no list of models to ask for",
    })
    const refused = await fetchModelList(at("http://127.0.0.1:1/v1"), options)
    expect(refused.ok ? "" : refused.error).toMatch(/^does not answer \(/)
  })
})

describe("the forms of a list", () => {
  test("windows and prices are read under every name they have", () => {
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

  test.each([[undefined], [null], ["text"], [{}], [{ error: "no" }]])("%j is no list", (json) => {
    expect(parseModelList(json)).toBeUndefined()
  })
})

describe("the lists that were fetched", () => {
  test("come back as they were, one for each address", () => {
    using place = temporaryHome()
    const models = parseModelList([
      { id: "x", context_length: 8192, pricing: { prompt: "0.00000012345", completion: 0, request: "0.002" } },
    ])!
    storeList(place.home, "https://a/v1", { models, fetchedAt: 5000 })
    storeList(place.home, "https://b/v1", { models: [{ id: "y" }], fetchedAt: 6000 })
    expect(readCachedList(place.home, "https://a/v1")).toEqual({ models, fetchedAt: 5000 })
    expect(readCachedList(place.home, "https://b/v1")).toEqual({ models: [{ id: "y" }], fetchedAt: 6000 })
    expect(readCachedList(place.home, "https://c/v1")).toBeUndefined()
  })

  test("are fresh for an hour", () => {
    const list = { models: [], fetchedAt: 1_000_000 }
    expect([999_999, 1_000_000, 4_599_999, 4_600_000].map((now) => isFresh(list, now))).toEqual([
      false,
      true,
      true,
      false,
    ])
  })

  test("a damaged file is an empty one, and is replaced", () => {
    using place = temporaryHome()
    storeList(place.home, "https://a/v1", { models: [], fetchedAt: 1 })
    writeFileSync(place.home.file("cache", "model_lists.json"), "{")
    expect(readCachedList(place.home, "https://a/v1")).toBeUndefined()
    storeList(place.home, "https://a/v1", { models: [], fetchedAt: 2 })
    expect(readCachedList(place.home, "https://a/v1")).toEqual({ models: [], fetchedAt: 2 })
  })
})

describe("a manifest", () => {
  test("of version 1 names models by provider", () => {
    const json = {
      version: 1,
      updated_at: "x",
      providers: { zai: { models: [{ id: "a", description: "d" }, { id: "b" }] } },
    }
    expect(parseManifest(json)).toEqual({ updatedAt: "x", models: { zai: ["a", "b"] } })
  })

  test.each([
    [{ version: 2, providers: {} }],
    [{ version: 1 }],
    [{ version: 1, providers: { zai: { models: [{ name: "a" }] } } }],
    [{ version: 1, providers: { zai: [] } }],
    ["text"],
  ])("%j is not understood", (json) => {
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
