import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { expect, test } from "vitest"

import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { ChosenModel } from "../choose-model.ts"
import type { ModelRuntime } from "../model.ts"
import { requestContextWindow } from "./request-context-window.ts"
import { storeList } from "./model-list-cache.ts"

const ENVIRONMENT = environmentFrom({})
const OPTIONS = {
  environment: ENVIRONMENT,
  // The cache is empty: no list was fetched yet.
  home: homeAt("/nowhere", ENVIRONMENT),
  version: "1",
  signal: new AbortController().signal,
}

function chosen(runtime: Partial<ModelRuntime>): ChosenModel {
  return {
    runtime: {
      provider: "custom",
      model: "m",
      wire: "chat_completions",
      baseUrl: "http://127.0.0.1:1/v1",
      contextLength: 8192,
      credentialSource: "none needed",
      billingMode: "metered",
      ...runtime,
    },
    key: undefined,
    usesPool: false,
    headers: {},
    extraBody: {},
    usesDefaultEndpoint: false,
    windowIsGuess: true,
    timeouts: {},
    wireAssumed: false,
    demoByDefault: false,
  }
}

async function serve(routes: Readonly<Record<string, unknown>>) {
  const server = createServer((request, response) => {
    const answer = routes[request.url ?? ""]
    response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  }
}

test.each([
  ["qwen3", 24_576],
  ["qwen3:latest", 24_576],
  ["llama3", undefined],
])("Ollama reports the window of %s: %s", async (model, tokens) => {
  await using ollama = await serve({
    "/api/tags": { models: [{ model: "qwen3:latest" }] },
    "/api/show": { parameters: "num_ctx 24576" },
  })
  const { baseUrl } = ollama
  expect(await requestContextWindow(chosen({ model, baseUrl, billingMode: "local" }), OPTIONS)).toBe(tokens)
})

test("a vendor's model is looked up in the catalogue, without a request", async () => {
  const runtime = { provider: "anthropic", model: "claude-sonnet-4.5" }
  expect(await requestContextWindow(chosen(runtime), OPTIONS)).toBeGreaterThanOrEqual(200_000)
})

test("falls back to the endpoint's own list", async () => {
  await using server = await serve({ "/v1/models": { data: [{ id: "m", context_length: 65_536 }, { id: "n" }] } })
  const { baseUrl } = server
  expect(await requestContextWindow(chosen({ baseUrl }), OPTIONS)).toBe(65_536)
  expect(await requestContextWindow(chosen({ baseUrl, model: "n" }), OPTIONS)).toBeUndefined()
})

test("no response: undefined", async () => {
  expect(await requestContextWindow(chosen({}), OPTIONS)).toBeUndefined()
  expect(await requestContextWindow(chosen({ billingMode: "local" }), OPTIONS)).toBeUndefined()
})

test("a cached list is not fetched again", async () => {
  await using testHome = await temporaryHome()
  const home = homeAt(testHome.path, ENVIRONMENT)
  const baseUrl = "http://127.0.0.1:1/v1"
  storeList(home, baseUrl, { models: [{ id: "m", contextLength: 77_000 }], fetchedAt: 1 })
  expect(await requestContextWindow(chosen({ baseUrl }), { ...OPTIONS, home })).toBe(77_000)
})
