import { readFileSync, writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"

import { startAuthorizationServer } from "../../../../test/support/authorization-server.ts"
import { createTestHome, type TestHome } from "../../../../test/support/command-run.ts"
import { startModelServer } from "../../../../test/support/model-server/server.ts"
import { startTlsServer } from "../../../../test/support/tls-server.ts"
import { priceWarning } from "./offered-models.ts"

const file = (home: TestHome, name: string): string => readFileSync(home.home.file(name), "utf8")

/** The model part of the file, without the version line. */
const chosen = (home: TestHome): string => file(home, "config.yaml").replace(/^_config_version: \d+\n/, "")

describe("without a terminal", () => {
  test("the commands that do the same are named", async () => {
    using home = createTestHome()
    const run = await home.run(["model"])
    expect([run.code, run.out]).toEqual([1, ""])
    expect(run.err).toContain("hermes config set model.provider openrouter")
  })

  test("lists are refreshed all the same", async () => {
    using home = createTestHome()
    await using server = await startModelServer([], { models: ["one", "two"] })
    const run = await home.run(["model", "--refresh"], {
      variables: { OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${server.url}/v1` },
    })
    expect(run).toEqual({ code: 0, out: "openai-api: 2 models\n", err: "" })
    expect(JSON.parse(file(home, "cache/model_lists.json"))).toMatchObject({
      [`${server.url}/v1`]: { data: [{ id: "one" }, { id: "two" }] },
    })
  })

  test("a manifest that the settings name is fetched, and offered where the provider cannot be asked", async () => {
    using home = createTestHome()
    const manifest = { version: 1, updated_at: "2026-11-01", providers: { zai: { models: [{ id: "glm-9" }] } } }
    const answer = { kind: "status" as const, status: 200, body: manifest }
    await using server = await startModelServer([], { routes: { "GET /list.json": answer } })
    writeFileSync(home.home.file("config.yaml"), `model_catalog:\n  url: ${server.url}/list.json\n`)
    expect((await home.run(["model", "--refresh"])).out).toBe(`${server.url}/list.json: 1 provider\n`)
    const variables = { HTTPS_PROXY: "http://127.0.0.1:1", GLM_API_KEY: "k" }
    expect((await home.run(["model"], { answers: ["zai"], variables })).out).toContain("now uses glm-9 (zai)")
  })

  test("there is nothing to refresh without a key", async () => {
    using home = createTestHome()
    expect(await home.run(["model", "--refresh"])).toEqual({
      code: 1,
      out: "",
      err: "No provider has a key yet, so there is no list to fetch. `hermes model` sets one up.\n",
    })
  })
})

describe("with a person to ask", () => {
  test("a server of one's own: address, key and model; the key goes to .env", async () => {
    using home = createTestHome()
    await using server = await startModelServer([], { models: ["alpha-1", "beta-2", "beta-3"] })
    const run = await home.run(["model"], { answers: ["custom", `${server.url}/v1/`, "sk-mine", "beta", "2"] })
    expect([run.code, run.out]).toEqual([0, "Hermes now uses beta-3 (custom). It is in ~/.hermes/config.yaml.\n"])
    expect(chosen(home)).toBe(
      `model:\n  provider: custom\n  default: beta-3\n  base_url: ${server.url}/v1\n  api_key: \${CUSTOM_API_KEY}\n`,
    )
    expect(file(home, ".env")).toContain("CUSTOM_API_KEY=sk-mine")
    expect(run.err).not.toContain("sk-mine")
  })

  test("a vendor: the key is asked for once, what belonged to another place goes", async () => {
    using home = createTestHome()
    writeFileSync(
      home.home.file("config.yaml"),
      "model:\n  provider: custom # old\n  default: x\n  base_url: http://old/v1\n  api_mode: chat_completions\n",
    )
    // The vendor cannot be reached, so the catalogue says what there is.
    const variables = { HTTPS_PROXY: "http://127.0.0.1:1" }
    const run = await home.run(["model"], { answers: ["deepseek", "sk-deep", ""], variables })
    expect(run.out).toBe("Hermes now uses deepseek-v4-pro (deepseek). It is in ~/.hermes/config.yaml.\n")
    expect(chosen(home)).toBe("model:\n  provider: deepseek # old\n  default: deepseek-v4-pro\n")
    expect(file(home, ".env")).toContain("DEEPSEEK_API_KEY=sk-deep")
    const again = await home.run(["model"], { answers: ["", "1"], variables })
    expect(again.err).toContain("Using the key from DEEPSEEK_API_KEY.")
    expect(chosen(home)).toBe("model:\n  provider: deepseek # old\n  default: deepseek-flash\n")
  })

  test("a short name and a name the list lacks are understood", async () => {
    using home = createTestHome()
    const variables = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "http://127.0.0.1:1" }
    const alias = await home.run(["model"], { answers: ["anthropic", "sonnet", "1"], variables })
    expect(alias.out).toContain("(anthropic)")
    const unknown = await home.run(["model"], { answers: ["anthropic", "claude-new-9.9"], variables })
    expect(unknown.err).toContain("Anthropic does not list claude-new-9-9; it is taken at your word.")
    expect(chosen(home)).toContain("default: claude-new-9-9")
  })

  test("a server found nearby: its only model, and the window it really has", async () => {
    using home = createTestHome()
    const props = { kind: "status" as const, status: 200, body: { default_generation_settings: { n_ctx: 16_384 } } }
    await using server = await startModelServer([], {
      models: ["model.gguf"],
      routes: { "GET /props": props, "GET /api/v1/models": { kind: "status", status: 404 } },
    })
    const run = await home.run(["model"], {
      answers: ["llama.cpp"],
      variables: { OLLAMA_HOST: server.url.replace("http://", "") },
    })
    expect(run.out).toBe("Hermes now uses model.gguf (custom). It is in ~/.hermes/config.yaml.\n")
    expect(chosen(home)).toBe(`model:\n  provider: custom\n  default: model.gguf\n  base_url: ${server.url}/v1\n`)
    expect(file(home, "context_length_cache.yaml")).toBe(`context_lengths:\n  "model.gguf@${server.url}/v1": 16384\n`)
    expect(run.err).toContain("room for 16384 tokens only")
  })

  test("leaving half-way changes nothing", async () => {
    using home = createTestHome()
    const run = await home.run(["model"], { answers: ["custom"] })
    expect([run.code, run.err.endsWith("Nothing was changed.\n")]).toEqual([1, true])
    expect(() => file(home, "config.yaml")).toThrow()
  })

  test.each([
    [["nobody"], 'There is no provider "nobody".'],
    [["custom", "nowhere"], '"nowhere" is not an http(s) address. Nothing was changed.'],
    [["openai-codex"], "needs a client id that is registered for you to log in"],
    [["zai", ""], "Nothing was changed: Z.AI needs a key."],
  ])("%j is answered", async (answers, sentence) => {
    using home = createTestHome()
    const run = await home.run(["model"], { answers })
    expect([run.code, run.err.trimEnd().split("\n").at(-1)?.includes(sentence)]).toEqual([1, true])
  })
})

test("a provider without keys is logged in at, as the flags say, and chosen", async () => {
  using home = createTestHome()
  await using server = await startAuthorizationServer({ interval: 0.001 })
  await using secure = await startTlsServer(server.url)
  server.grantDevice()
  const oauth = `client_id: c, token_url: "${secure.url}/token", device_url: "${secure.url}/device"`
  writeFileSync(home.home.file("config.yaml"), `providers: { minimax-oauth: { oauth: { ${oauth} } } }\n`)
  const variables = { HTTPS_PROXY: "http://127.0.0.1:1" }
  const refused = await home.run(["model"], { answers: ["minimax-oauth"], variables })
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("--ca-bundle") as string])
  const run = await home.run(["model", "--ca-bundle", secure.certificate], {
    answers: ["minimax-oauth", "1"],
    variables,
  })
  expect([run.code, run.out]).toEqual([
    0,
    expect.stringMatching(/^Logged in at minimax-oauth as \S+\.\nHermes now uses \S+ \(minimax-oauth\)/) as string,
  ])
  expect(JSON.parse(file(home, "auth.json"))).toMatchObject({
    providers: { "minimax-oauth": { access_token: "access-token-1", tls: { ca_bundle: secure.certificate } } },
  })
})

describe("an expensive model", () => {
  const prices = {
    input: null,
    output: null,
    cacheRead: null,
    cacheWrite: null,
    source: "table",
    version: "v",
  } as const

  test.each([
    [20_000_000_000n, 100_000_000_000n, undefined],
    [20_000_000_001n, 1n, "m is expensive: P for a million tokens (table, v)."],
    [1n, 100_000_000_001n, "m is expensive: P for a million tokens (table, v)."],
    [null, null, undefined],
  ])("%s in, %s out: %s", (input, output, warning) => {
    expect(priceWarning({ id: "m", price: "P", prices: { ...prices, input, output } })).toBe(warning)
  })
})
