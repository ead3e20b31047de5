import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, test } from "vitest"

import { environmentFrom } from "../../config/environment.ts"
import { findLocalServers, identifyServer, chooseLocalModel, type LocalServer } from "./local-servers.ts"

type CannedResponse = { readonly status?: number; readonly json: unknown } | { readonly text: string }
type Routes = Readonly<Record<string, CannedResponse>>

const open: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

/** Starts a server with these routes; any other path gets `otherwise`. */
async function serve(
  routes: Routes,
  otherwise: CannedResponse = { status: 404, json: { error: "no" } },
): Promise<string> {
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk) => (body += String(chunk)))
    request.on("end", () => {
      const answer = routes[`${request.url ?? ""} ${body}`] ?? routes[request.url ?? ""] ?? otherwise
      if ("text" in answer) response.writeHead(200, { "content-type": "text/html" }).end(answer.text)
      else response.writeHead(answer.status ?? 200).end(JSON.stringify(answer.json))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  open.push(() => new Promise((resolve) => server.close(() => resolve())))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const signal = new AbortController().signal

const LM_STUDIO: Routes = {
  "/api/v1/models": {
    json: {
      models: [
        {
          type: "llm",
          key: "qwen/qwen3-8b",
          max_context_length: 40_960,
          loaded_instances: [{ id: "qwen/qwen3-8b", config: { context_length: 16_384 } }],
        },
        { type: "llm", key: "google/gemma-3-4b", max_context_length: 131_072, loaded_instances: [] },
        { type: "embedding", key: "nomic-embed", loaded_instances: [] },
      ],
    },
  },
}
/** LM Studio's response to every unknown path. */
const LM_STUDIO_OTHERWISE: CannedResponse = { json: { error: "Unexpected endpoint or method. (GET /api/tags)" } }

const OLLAMA: Routes = {
  "/api/tags": {
    json: {
      models: [
        { model: "qwen3:14b" },
        { name: "llama3:8b" },
        { model: "mystery:1b" },
        // An embedding model, which is not offered.
        { model: "nomic-embed-text:latest" },
      ],
    },
  },
  "/api/ps": { json: { models: [{ model: "llama3:8b", context_length: 4096 }] } },
  '/api/show {"model":"qwen3:14b"}': {
    json: {
      parameters: "temperature 0.6\nnum_ctx                        24576",
      model_info: { "qwen3.context_length": 40_960 },
    },
  },
  '/api/show {"model":"llama3:8b"}': {
    json: { model_info: { "llama.context_length": 131_072 }, capabilities: ["completion", "tools"] },
  },
  '/api/show {"model":"nomic-embed-text:latest"}': { json: { capabilities: ["embedding"] } },
  '/api/show {"model":"mystery:1b"}': { json: {} },
  "/v1/models": { json: { data: [{ id: "qwen3:14b" }] } },
  "/version": { status: 404, json: {} },
}

const LLAMA_CPP: Routes = {
  "/props": { json: { default_generation_settings: { n_ctx: 8192 }, total_slots: 1 } },
  "/v1/models": { json: { data: [{ id: "model.gguf", meta: { n_ctx_train: 131_072 } }] } },
}

const VLLM: Routes = {
  "/version": { json: { version: "0.11.0" } },
  "/v1/models": { json: { data: [{ id: "Qwen/Qwen3-32B", max_model_len: 32_768 }] } },
}

describe("identifyServer", () => {
  test.each<[string, Routes, CannedResponse | undefined, Omit<LocalServer, "baseUrl">]>([
    [
      "LM Studio, whose 200 for Ollama's path means nothing",
      LM_STUDIO,
      LM_STUDIO_OTHERWISE,
      {
        kind: "lmstudio",
        name: "LM Studio",
        models: [
          { id: "qwen/qwen3-8b", loaded: true, contextLength: 16_384 },
          { id: "google/gemma-3-4b", loaded: false },
        ],
      },
    ],
    [
      "LM Studio of an older release",
      {
        "/api/v1/models": {
          json: {
            data: [
              { id: "a", type: "llm", state: "loaded", loaded_context_length: 4096, max_context_length: 32_768 },
              { id: "b", type: "vlm", state: "not-loaded", max_context_length: 32_768 },
              { id: "c", type: "embeddings", state: "not-loaded" },
            ],
          },
        },
      },
      LM_STUDIO_OTHERWISE,
      {
        kind: "lmstudio",
        name: "LM Studio",
        models: [
          { id: "a", loaded: true, contextLength: 4096 },
          { id: "b", loaded: false },
        ],
      },
    ],
    [
      "Ollama",
      OLLAMA,
      undefined,
      {
        kind: "ollama",
        name: "Ollama",
        models: [
          { id: "qwen3:14b", loaded: false, contextLength: 24_576 },
          { id: "llama3:8b", loaded: true, contextLength: 4096 },
          { id: "mystery:1b", loaded: false },
        ],
      },
    ],
    [
      "llama.cpp, with the window it was started with",
      LLAMA_CPP,
      undefined,
      { kind: "llamacpp", name: "llama.cpp", models: [{ id: "model.gguf", loaded: true, contextLength: 8192 }] },
    ],
    [
      "vLLM",
      VLLM,
      undefined,
      { kind: "vllm", name: "vLLM", models: [{ id: "Qwen/Qwen3-32B", loaded: true, contextLength: 32_768 }] },
    ],
    [
      "any other with a list of models",
      { "/v1/models": { json: { data: [{ id: "tiny" }] } } },
      undefined,
      { kind: "generic", name: "a model server", models: [{ id: "tiny", loaded: true }] },
    ],
  ])("%s", async (_name, routes, otherwise, expected) => {
    const root = await serve(routes, otherwise)
    expect(await identifyServer(`${root}/v1/`, { signal })).toEqual({ ...expected, baseUrl: `${root}/v1` })
  })

  test("a web server that serves a page at every path is not a model server", async () => {
    expect(await identifyServer(await serve({}, { text: "<!doctype html>" }), { signal })).toBeUndefined()
  })

  test.each(["http://127.0.0.1:1/v1", "ftp://127.0.0.1", "nonsense"])("%s is not a model server", async (address) => {
    expect(await identifyServer(address, { signal })).toBeUndefined()
  })

  test("an abort ends the probe immediately", async () => {
    const server = createServer(() => undefined)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    open.push(async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
    const leaving = new AbortController()
    server.once("request", () => leaving.abort())
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await identifyServer(address, { signal: leaving.signal })).toBeUndefined()
  })
})

describe("findLocalServers", () => {
  test("finds servers on the ports and in the environment, each once", async () => {
    const [one, two] = [await serve(VLLM), await serve(LLAMA_CPP)]
    const port = Number(new URL(one).port)
    const found = await findLocalServers({
      environment: environmentFrom({
        OLLAMA_HOST: `0.0.0.0:${new URL(two).port}`,
        OPENAI_BASE_URL: `${one}/v1`,
        LM_BASE_URL: "https://models.example.com/v1",
      }),
      signal,
      ports: [port, 1],
    })
    expect(found.map(({ kind, baseUrl }) => [kind, baseUrl])).toEqual([
      ["vllm", `${one}/v1`],
      ["llamacpp", `${two}/v1`],
    ])
  })
})

describe("chooseLocalModel", () => {
  const server = (models: LocalServer["models"]): LocalServer => ({
    kind: "ollama",
    name: "Ollama",
    baseUrl: "x",
    models,
  })
  const [a, b, c] = ["a", "b", "c"].map((id, index) => ({ id, loaded: index > 0 }))

  test("selects the only model or the only loaded one, else returns the candidates", () => {
    expect(chooseLocalModel(server([a!]))).toEqual({ kind: "one", model: a })
    expect(chooseLocalModel(server([a!, b!]))).toEqual({ kind: "one", model: b })
    expect(chooseLocalModel(server([a!, b!, c!]))).toEqual({ kind: "several", models: [b, c] })
    expect(chooseLocalModel(server([]))).toEqual({ kind: "none" })
  })

  test("selects the named model, with or without its tag", () => {
    const tagged = { id: "qwen3:latest", loaded: false }
    expect(chooseLocalModel(server([a!, b!, tagged]), "a")).toEqual({ kind: "one", model: a })
    expect(chooseLocalModel(server([a!, b!, tagged]), "qwen3")).toEqual({ kind: "one", model: tagged })
    expect(chooseLocalModel(server([a!]), "b")).toEqual({ kind: "none" })
  })
})
