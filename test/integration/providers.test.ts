import { writeFile } from "node:fs/promises"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { parseJson, stringField } from "../../src/base/json.ts"
import { PROVIDERS } from "../../src/llm/providers.ts"
import { startAuthorizationServer } from "../support/authorization-server.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import { callsTool, refuses, says } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp } from "./assembled-app.ts"

const KEY = "key-of-the-test-0001"

/** An app whose provider is served by the scripted server. `config` and `env` may contain SERVER for its address. */
async function appAt(
  script: readonly ScriptEntry[],
  { config, env = {} }: { readonly config: object; readonly env?: Readonly<Record<string, string>> },
): Promise<{ readonly assembled: AssembledApp; readonly server: ModelServer } & AsyncDisposable> {
  const server = await startModelServer(script)
  const atServer = (text: string): string => text.replaceAll("SERVER", server.url)
  const assembled = await assembleApp([], {
    files: { "config.yaml": atServer(JSON.stringify(config)) },
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, atServer(value)])),
  })
  return {
    assembled,
    server,
    [Symbol.asyncDispose]: async () => {
      await assembled[Symbol.asyncDispose]()
      await server.close()
    },
  }
}

async function firstRequest(options: Parameters<typeof appAt>[1]) {
  await using app = await appAt([says("Hello.")], options)
  const { end } = await runToEnd(await app.assembled.open(), "Hi.")
  const [request] = app.server.requests
  return {
    answer: end.result.finalResponse,
    problem: end.result.error?.message,
    path: request?.path,
    authorization: request?.headers["authorization"],
    apiKey: request?.headers["api-key"],
    model: stringField(parseJson(request?.rawBody ?? ""), "model"),
  }
}

/** Every provider with a plain key: its id, the variable of the key, and the path below which requests are sent. */
const PLAIN: readonly (readonly [id: string, variable: string, path: string])[] = [
  ["mistral", "MISTRAL_API_KEY", "/v1"],
  ["groq", "GROQ_API_KEY", "/openai/v1"],
  ["cerebras", "CEREBRAS_API_KEY", "/v1"],
  ["together", "TOGETHER_API_KEY", "/v1"],
  ["fireworks", "FIREWORKS_API_KEY", "/inference/v1"],
  ["baseten", "BASETEN_API_KEY", "/v1"],
  ["deepinfra", "DEEPINFRA_API_KEY", "/v1/openai"],
  ["sambanova", "SAMBANOVA_API_KEY", "/v1"],
  ["nebius", "NEBIUS_API_KEY", "/v1"],
  ["hyperbolic", "HYPERBOLIC_API_KEY", "/v1"],
  ["siliconflow", "SILICONFLOW_API_KEY", "/v1"],
  ["chutes", "CHUTES_API_KEY", "/v1"],
  ["venice", "VENICE_API_KEY", "/api/v1"],
  ["cohere", "COHERE_API_KEY", "/compatibility/v1"],
  ["perplexity", "PERPLEXITY_API_KEY", ""],
  ["vercel-ai-gateway", "AI_GATEWAY_API_KEY", "/v1"],
  ["github-models", "GITHUB_TOKEN", "/inference"],
]

describe("providers with a key", () => {
  test.each(PLAIN)("%s", async (id, variable, path) => {
    const provider = PROVIDERS.find((entry) => entry.id === id)
    const model = provider?.defaultModel || "some-model"
    const config = {
      model: { provider: id, default: model },
      providers: { [id]: { base_url: `SERVER${path}` } },
    }
    expect(new URL(provider?.baseUrl ?? "").pathname).toBe(path === "" ? "/" : path)
    expect(await firstRequest({ config, env: { [variable]: KEY } })).toMatchObject({
      answer: "Hello.",
      path: `${path}/chat/completions`,
      authorization: `Bearer ${KEY}`,
      model,
    })
  })

  test.each(PLAIN.filter(([id]) => id !== "github-models"))("%s is found by its key alone", async (id, variable) => {
    await using assembled = await assembleApp([], { files: { "config.yaml": "{}" }, env: { [variable]: KEY } })
    const chosen = assembled.app.chooseModel({ model: "some-model" })
    expect(chosen.ok && [chosen.value.runtime.provider, chosen.value.runtime.credentialSource]).toEqual([id, variable])
  })

  test("a GitHub token of another program does not choose GitHub Models", async () => {
    await using assembled = await assembleApp([], { files: { "config.yaml": "{}" }, env: { GITHUB_TOKEN: KEY } })
    const chosen = assembled.app.chooseModel({})
    expect(chosen.ok && chosen.value.demoByDefault).toBe(true)
  })

  test("meta is served by the Responses API", async () => {
    const config = { model: { provider: "meta" }, providers: { meta: { base_url: "SERVER/v1" } } }
    expect(await firstRequest({ config, env: { META_API_KEY: KEY } })).toMatchObject({
      path: "/v1/responses",
      authorization: `Bearer ${KEY}`,
    })
  })
})

describe("Mistral", () => {
  const config = { model: { provider: "mistral" }, providers: { mistral: { base_url: "SERVER/v1" } } }

  test("gets short ids of tool calls, no user message after a result, and no stream_options", async () => {
    await using app = await appAt([callsTool("todo", {}), refuses(400, "broken"), says("Hello.")], {
      config,
      env: { MISTRAL_API_KEY: KEY },
    })
    const session = await app.assembled.open()
    await runToEnd(session, "Hi.")
    await runToEnd(session, "Again.")
    const body: unknown = JSON.parse(app.server.requests.at(-1)?.rawBody ?? "{}")
    const { messages } = body as { messages: { role: string; tool_call_id?: string; tool_calls?: { id: string }[] }[] }
    expect(body).not.toHaveProperty("stream_options")
    expect(messages.map(({ role }) => role).slice(1)).toEqual(["user", "assistant", "tool", "assistant", "user"])
    const ids = messages.flatMap(({ tool_call_id: id = "", tool_calls: calls = [] }) => [
      ...(id === "" ? [] : [id]),
      ...calls.map((call) => call.id),
    ])
    expect(ids).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/), ids[0]])
  })
})

describe("Azure OpenAI", () => {
  const config = { model: { provider: "azure-openai", default: "my-deployment" } }
  const key = { AZURE_OPENAI_API_KEY: KEY }

  test.each<[string, object, Readonly<Record<string, string>>, string]>([
    ["the v1 API of an endpoint", {}, { AZURE_OPENAI_ENDPOINT: "SERVER/" }, "/openai/v1/chat/completions"],
    [
      "a deployment, when a version is set",
      {},
      { AZURE_OPENAI_ENDPOINT: "SERVER", AZURE_OPENAI_API_VERSION: "2024-10-21" },
      "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21",
    ],
    ["an address with its path", {}, { AZURE_OPENAI_BASE_URL: "SERVER/openai/v1" }, "/openai/v1/chat/completions"],
    [
      "an address of the settings",
      { providers: { "azure-openai": { base_url: "SERVER" } } },
      {},
      "/openai/v1/chat/completions",
    ],
  ])("%s", async (_name, settings, env, path) => {
    expect(await firstRequest({ config: { ...config, ...settings }, env: { ...key, ...env } })).toEqual({
      answer: "Hello.",
      problem: undefined,
      path,
      authorization: undefined,
      apiKey: KEY,
      model: "my-deployment",
    })
  })

  test("is found by its key and its endpoint, with the deployment of the variable", async () => {
    const env = { ...key, AZURE_OPENAI_ENDPOINT: "https://x.openai.azure.com", AZURE_OPENAI_DEPLOYMENT: "gpt-5-prod" }
    await using assembled = await assembleApp([], { files: { "config.yaml": "{}" }, env })
    const chosen = assembled.app.chooseModel({})
    expect(chosen.ok && chosen.value.runtime).toMatchObject({
      provider: "azure-openai",
      model: "gpt-5-prod",
      wire: "chat_completions",
      baseUrl: "https://x.openai.azure.com/openai/v1",
    })
  })

  test("without an endpoint the message names the variable", async () => {
    await using assembled = await assembleApp([], { files: { "config.yaml": "{}" }, env: key })
    const chosen = assembled.app.chooseModel({ provider: "azure-openai", model: "m" })
    expect(chosen.ok || chosen.error.message).toContain("set AZURE_OPENAI_ENDPOINT")
    // A key alone does not choose it, and the demo does not answer in its place.
    expect(assembled.app.chooseModel({})).toMatchObject({ ok: false, error: { code: "bad_address" } })
  })
})

describe("Vertex AI", () => {
  const path = "/v1/projects/my-project/locations/global/publishers/google"
  const config = { model: { provider: "vertex" }, providers: { vertex: { base_url: `SERVER${path}` } } }

  test("gets a Gemini request with a token of the Google login, which is requested once", async () => {
    await using scratch = await temporaryHome()
    await using google = await startAuthorizationServer()
    const file = join(scratch.path, "credentials.json")
    const login = { type: "authorized_user", client_id: "c", client_secret: "s", token_uri: `${google.url}/token` }
    await writeFile(file, JSON.stringify({ ...login, refresh_token: google.issue().refreshToken }))
    await using app = await appAt([says("Hello."), says("Again.")], {
      config,
      env: { GOOGLE_APPLICATION_CREDENTIALS: file },
    })
    const session = await app.assembled.open()
    const answers = [await runToEnd(session, "Hi."), await runToEnd(session, "More.")]
    expect(answers.map(({ end }) => end.result.finalResponse)).toEqual(["Hello.", "Again."])
    expect(app.server.requests.map(({ path: sent, headers }) => [sent, headers["authorization"]])).toEqual([
      [`${path}/models/gemini-2.5-pro:streamGenerateContent?alt=sse`, "Bearer access-token-2"],
      [`${path}/models/gemini-2.5-pro:streamGenerateContent?alt=sse`, "Bearer access-token-2"],
    ])
    expect(google.tokenRequests).toHaveLength(1)
  })

  test("reports credentials that cannot be used", async () => {
    await using app = await appAt([], { config, env: { GOOGLE_APPLICATION_CREDENTIALS: "/nonexistent/file.json" } })
    const { end } = await runToEnd(await app.assembled.open(), "Hi.")
    expect(end.result.error?.message).toContain("the Google credentials in /nonexistent/file.json cannot be read")
  })

  test.each([
    [{ GOOGLE_CLOUD_PROJECT: "p-1" }, "https://aiplatform.googleapis.com/v1/projects/p-1/locations/global"],
    [
      { GOOGLE_CLOUD_PROJECT: "p-1", GOOGLE_CLOUD_LOCATION: "europe-west4" },
      "https://europe-west4-aiplatform.googleapis.com/v1/projects/p-1/locations/europe-west4",
    ],
  ])("has the address of the project: %j", async (env, address) => {
    await using assembled = await assembleApp([], {
      files: { "config.yaml": "{}" },
      env: { ...env, GOOGLE_GENAI_USE_VERTEXAI: "true" },
    })
    const chosen = assembled.app.chooseModel({})
    expect(chosen.ok && chosen.value.runtime).toMatchObject({
      provider: "vertex",
      wire: "gemini_native",
      baseUrl: `${address}/publishers/google`,
    })
  })

  test("needs a project", async () => {
    await using assembled = await assembleApp([], { files: { "config.yaml": "{}" } })
    const chosen = assembled.app.chooseModel({ provider: "vertex" })
    expect(chosen.ok || chosen.error.message).toContain("set GOOGLE_CLOUD_PROJECT")
  })
})
