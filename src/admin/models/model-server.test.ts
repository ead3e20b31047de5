import { expect, test } from "vitest"

import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { startModelServer, type ModelServerOptions } from "../../../test/support/model-server/server.ts"
import { loadHome } from "../loaded-home.ts"
import { askModelServer, providerAtAddress } from "./model-server.ts"

async function ask(options: ModelServerOptions, path = "/v1", key?: string) {
  using context = createTestHomeContext({})
  await using server = await startModelServer([], options)
  const home = await loadHome(context)
  const signal = new AbortController().signal
  const reply = await askModelServer(home, `${server.url}${path}`, {
    version: "0",
    signal,
    ...(key === undefined ? {} : { key }),
  })
  // The port differs from run to run.
  return JSON.parse(JSON.stringify(reply).replaceAll(new URL(server.url).host, "HOST")) as unknown
}

const status = (code: number, body: unknown = {}) => ({ kind: "status" as const, status: code, body })

test.each([[""], ["/v1"]])("a server at %j is asked for its models", async (path) => {
  expect(await ask({ models: ["alpha-1", "beta-2"] }, path)).toMatchObject({
    kind: "models",
    server: { baseUrl: "http://HOST/v1", isLocal: true, models: [{ id: "alpha-1" }, { id: "beta-2" }] },
  })
})

test("the API is found below the typed path", async () => {
  const routes = { "GET /openai/models": status(404) }
  expect(await ask({ routes }, "/openai")).toMatchObject({
    kind: "models",
    server: { baseUrl: "http://HOST/openai/v1", models: [{ id: "scripted-model" }] },
  })
})

const CHECK = "Check the address: it is the base URL of an OpenAI-compatible API, and usually ends in /v1."

test.each<[string, ModelServerOptions, string | undefined, [string, string]]>([
  [
    "a key is needed",
    { routes: { "GET /v1/models": status(401) } },
    undefined,
    ["needs-key", "http://HOST needs a key."],
  ],
  [
    "the key is wrong",
    { routes: { "GET /v1/models": status(403) } },
    "k",
    ["needs-key", "http://HOST refuses the key."],
  ],
  [
    "it is another server",
    { routes: { "GET /v1/models": status(200, { hello: "world" }) } },
    undefined,
    ["failed", `http://HOST responds, but not like a model server. ${CHECK}`],
  ],
  [
    "it fails",
    { routes: { "GET /v1/models": status(500) } },
    undefined,
    ["failed", `http://HOST responds with HTTP 500, not with a list of models. ${CHECK}`],
  ],
  [
    "it has no models",
    { models: [] },
    undefined,
    ["failed", "http://HOST/v1 responds, but has no models. Download or load one there first."],
  ],
])("%s", async (_name, options, key, [kind, message]) => {
  expect(await ask(options, "/v1", key)).toEqual({ kind, message })
})

test("nothing listens, and an unknown host", async () => {
  using context = createTestHomeContext({})
  const home = await loadHome(context)
  const options = { version: "0", signal: new AbortController().signal }
  expect(await askModelServer(home, "http://127.0.0.1:1/v1", options)).toEqual({
    kind: "failed",
    message: "Nothing listens at http://127.0.0.1:1. Start the server, or correct the host and port.",
  })
  expect(await askModelServer(home, "http://no-such-host.invalid/v1", options)).toEqual({
    kind: "failed",
    message: "The host of http://no-such-host.invalid was not found. Check its name and the network connection.",
  })
})

test("the address of a known provider is that provider", async () => {
  using context = createTestHomeContext({
    "config.yaml": "providers:\n  office:\n    base_url: https://models.example.com/v1/\n",
  })
  const home = await loadHome(context)
  const found = ["https://models.example.com/v1", "https://openrouter.ai/api/v1", "http://localhost:11434/v1"]
  expect(found.map((address) => providerAtAddress(home, address))).toEqual(["office", "openrouter", undefined])
})
