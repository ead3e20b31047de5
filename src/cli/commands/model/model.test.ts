import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"

import { startAuthorizationServer } from "../../../../test/support/authorization-server.ts"
import { createCliHome, type CliHome } from "../../../../test/support/cli-home.ts"
import { startModelServer } from "../../../../test/support/model-server/server.ts"
import { startTlsServer } from "../../../../test/support/tls-server.ts"

const file = (home: CliHome, name: string): string => readFileSync(home.home.file(name), "utf8")

/** The model section of config.yaml, without the version line. */
const chosen = (home: CliHome): string => file(home, "config.yaml").replace(/^_config_version: \d+\n/, "")

describe("without a terminal", () => {
  test("the equivalent commands are printed", async () => {
    using home = createCliHome()
    const run = await home.run(["model"])
    expect([run.code, run.out]).toEqual([1, ""])
    expect(run.err).toContain("hermes config set model.provider openrouter")
  })

  test("a server is used by its address, with the named model or its only one, and a provider with the named model", async () => {
    using home = createCliHome()
    await using several = await startModelServer([], { models: ["alpha-1", "beta-2"] })
    await using single = await startModelServer([], { models: ["only-1"] })
    expect(await home.run(["model", several.url])).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        `${several.url} has several models. Choose one with \`hermes model ${several.url} NAME\`: alpha-1, beta-2.`,
      ) as string,
    })
    expect((await home.run(["model", several.url, "beta-2"])).out).toBe(
      `Hermes now uses beta-2 at ${several.url}/v1. Saved in ~/.hermes/config.yaml.\n`,
    )
    expect((await home.run(["model", `${single.url}/v1`])).code).toBe(0)
    expect(chosen(home)).toBe(`model:\n  provider: custom\n  default: only-1\n  base_url: ${single.url}/v1\n`)
    const variables = { DEEPSEEK_API_KEY: "k", HTTPS_PROXY: "http://127.0.0.1:1" }
    expect((await home.run(["model", "deepseek", "deepseek-flash"], { variables })).out).toBe(
      "Hermes now uses deepseek-flash (deepseek). Saved in ~/.hermes/config.yaml.\n",
    )
    expect(await home.run(["model", "opnrouter"])).toMatchObject({
      code: 2,
      err: expect.stringContaining('"opnrouter" is neither a provider nor the address of a server.') as string,
    })
  })

  test("--refresh fetches the model lists", async () => {
    using home = createCliHome()
    await using server = await startModelServer([], { models: ["one", "two"] })
    const run = await home.run(["model", "--refresh"], {
      variables: { OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${server.url}/v1` },
    })
    expect(run).toEqual({ code: 0, out: "openai-api: 2 models\n", err: "" })
    expect(JSON.parse(file(home, "cache/model_lists.json"))).toMatchObject({
      [`${server.url}/v1`]: { data: [{ id: "one" }, { id: "two" }] },
    })
  })

  test("the manifest of the settings is fetched, and used while the provider cannot be reached", async () => {
    using home = createCliHome()
    const manifest = { version: 1, updated_at: "2026-11-01", providers: { zai: { models: [{ id: "glm-9" }] } } }
    const answer = { kind: "status" as const, status: 200, body: manifest }
    await using server = await startModelServer([], { routes: { "GET /list.json": answer } })
    writeFileSync(home.home.file("config.yaml"), `model_catalog:\n  url: ${server.url}/list.json\n`)
    expect((await home.run(["model", "--refresh"])).out).toBe(`${server.url}/list.json: 1 provider\n`)
    const variables = { HTTPS_PROXY: "http://127.0.0.1:1", GLM_API_KEY: "k" }
    expect((await home.run(["model"], { answers: ["zai"], variables })).out).toContain("now uses glm-9 (zai)")
  })

  test("--refresh fails without a key", async () => {
    using home = createCliHome()
    expect(await home.run(["model", "--refresh"])).toEqual({
      code: 1,
      out: "",
      err: "No provider has a key yet, so there is no list to fetch. `hermes model` sets one up.\n",
    })
  })
})

describe("with a terminal", () => {
  test("a custom server: address, key and model are saved, the key in .env", async () => {
    using home = createCliHome()
    await using server = await startModelServer([], { models: ["alpha-1", "beta-2", "beta-3"] })
    const run = await home.run(["model"], { answers: ["custom", `${server.url}/v1/`, "sk-mine", "beta", "2"] })
    expect([run.code, run.out]).toEqual([0, "Hermes now uses beta-3 (custom). Saved in ~/.hermes/config.yaml.\n"])
    expect(chosen(home)).toBe(
      `model:\n  provider: custom\n  default: beta-3\n  base_url: ${server.url}/v1\n  api_key: \${CUSTOM_API_KEY}\n`,
    )
    expect(file(home, ".env")).toContain("CUSTOM_API_KEY=sk-mine")
    expect(run.err).not.toContain("sk-mine")
  })

  test.each([
    ["a vendor", ["deepseek", "sk-deep"]],
    ["a custom server", ["custom", "http://127.0.0.1:1/v1", "sk-mine"]],
  ])("%s: nothing is stored when the questions end before the model is chosen", async (_name, answers) => {
    using home = createCliHome()
    const run = await home.run(["model"], { answers, variables: { HTTPS_PROXY: "http://127.0.0.1:1" } })
    expect(run.code).not.toBe(0)
    expect(readdirSync(home.home.path).filter((name) => name === ".env" || name === "config.yaml")).toEqual([])
  })

  test("a vendor: the key is asked for once, and settings of the previous provider are removed", async () => {
    using home = createCliHome()
    writeFileSync(
      home.home.file("config.yaml"),
      "model:\n  provider: custom # old\n  default: x\n  base_url: http://old/v1\n  api_mode: chat_completions\n",
    )
    // The vendor cannot be reached, so the models come from the catalogue.
    const variables = { HTTPS_PROXY: "http://127.0.0.1:1" }
    const run = await home.run(["model"], { answers: ["deepseek", "sk-deep", ""], variables })
    expect(run.out).toBe("Hermes now uses deepseek-v4-pro (deepseek). Saved in ~/.hermes/config.yaml.\n")
    expect(chosen(home)).toBe("model:\n  provider: deepseek # old\n  default: deepseek-v4-pro\n")
    expect(file(home, ".env")).toContain("DEEPSEEK_API_KEY=sk-deep")
    const again = await home.run(["model"], { answers: ["", "1"], variables })
    expect(again.err).toContain("Using the key from DEEPSEEK_API_KEY.")
    expect(chosen(home)).toBe("model:\n  provider: deepseek # old\n  default: deepseek-flash\n")
  })

  test("an alias and an unlisted name are accepted", async () => {
    using home = createCliHome()
    const variables = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "http://127.0.0.1:1" }
    const alias = await home.run(["model"], { answers: ["anthropic", "sonnet", "1"], variables })
    expect(alias.out).toContain("(anthropic)")
    const unknown = await home.run(["model"], { answers: ["anthropic", "claude-new-9.9"], variables })
    expect(unknown.err).toContain("Anthropic does not list claude-new-9-9; Hermes uses it as you typed it.")
    expect(chosen(home)).toContain("default: claude-new-9-9")
  })

  test("a local server: its only model is chosen, with the context window that the server reports", async () => {
    using home = createCliHome()
    const props = { kind: "status" as const, status: 200, body: { default_generation_settings: { n_ctx: 16_384 } } }
    await using server = await startModelServer([], {
      models: ["model.gguf"],
      routes: { "GET /props": props, "GET /api/v1/models": { kind: "status", status: 404 } },
    })
    const run = await home.run(["model"], {
      answers: ["llama.cpp"],
      variables: { OLLAMA_HOST: server.url.replace("http://", "") },
    })
    expect(run.out).toBe("Hermes now uses model.gguf (custom). Saved in ~/.hermes/config.yaml.\n")
    expect(chosen(home)).toBe(`model:\n  provider: custom\n  default: model.gguf\n  base_url: ${server.url}/v1\n`)
    expect(file(home, "context_length_cache.yaml")).toBe(`context_lengths:\n  "model.gguf@${server.url}/v1": 16384\n`)
    expect(run.err).toContain("16384 tokens")
  })

  test("the address of a server as an argument or at the first question: only what is missing is asked for", async () => {
    using home = createCliHome()
    await using server = await startModelServer([], { models: ["alpha-1", "beta-2"] })
    const { host } = new URL(server.url)
    const named = await home.run(["model", host], { answers: ["2"] })
    expect(named.out).toBe("Hermes now uses beta-2 (custom). Saved in ~/.hermes/config.yaml.\n")
    expect(chosen(home)).toBe(`model:\n  provider: custom\n  default: beta-2\n  base_url: ${server.url}/v1\n`)
    const typed = await home.run(["model"], { answers: ["http://127.0.0.1:1/v1", `${server.url}/v1`, "alpha-1"] })
    expect(typed.err).toContain(
      "Nothing listens at http://127.0.0.1:1. Start the server, or correct the host and port.",
    )
    expect(typed.out).toContain("Hermes now uses alpha-1 (custom).")
    const withModel = await home.run(["model", server.url, "beta-2"], { answers: ["unused"] })
    expect(withModel.out).toContain("Hermes now uses beta-2 (custom).")
  })

  test("leaving before the end changes nothing", async () => {
    using home = createCliHome()
    const run = await home.run(["model"], { answers: ["custom"] })
    expect([run.code, run.err.endsWith("Nothing was changed.\n")]).toEqual([1, true])
    expect(() => file(home, "config.yaml")).toThrow()
  })

  test("a typing mistake is explained, and the question is asked again", async () => {
    using home = createCliHome()
    const run = await home.run(["model"], {
      answers: ["opnrouter", "999", "custom", "nowhere", "http://127.0.0.1:1/v1", "", "my-model"],
    })
    expect(run.err).toContain('There is no provider "opnrouter". Did you mean openrouter?')
    expect(run.err).toContain("There is no number 999 in this list. Type ? for the list, or press Ctrl+D to leave.")
    expect(run.err.match(/^ +1 {2}openrouter/gmu)).toHaveLength(1)
    expect(run.err).toContain('"nowhere" is not an http(s) address.')
    expect([run.code, run.out]).toEqual([0, "Hermes now uses my-model (custom). Saved in ~/.hermes/config.yaml.\n"])
  })

  test.each([
    [["openai-codex"], "needs a registered client id"],
    [["zai", ""], "Nothing was changed: Z.AI needs a key."],
  ])("%j is refused", async (answers, sentence) => {
    using home = createCliHome()
    const run = await home.run(["model"], { answers })
    expect([run.code, run.err.trimEnd().split("\n").at(-1)?.includes(sentence)]).toEqual([1, true])
  })
})

test("a provider without keys starts a login with the given flags", async () => {
  using home = createCliHome()
  await using server = await startAuthorizationServer({ interval: 0.001 })
  await using secure = await startTlsServer(server.url)
  server.grantDevice()
  const oauth = `client_id: c, token_url: "${secure.url}/token", device_url: "${secure.url}/device"`
  writeFileSync(home.home.file("config.yaml"), `providers: { minimax-oauth: { oauth: { ${oauth} } } }\n`)
  const variables = { HTTPS_PROXY: "http://127.0.0.1:1" }
  const refused = await home.run(["model"], { answers: ["minimax-oauth"], variables })
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("--ca-bundle") as string])
  const run = await home.run(["model", "--ca-bundle", secure.certificateFile], {
    answers: ["minimax-oauth", "1"],
    variables,
  })
  expect([run.code, run.out]).toEqual([
    0,
    expect.stringMatching(/^Logged in at minimax-oauth as \S+\.\nHermes now uses \S+ \(minimax-oauth\)/) as string,
  ])
  expect(JSON.parse(file(home, "auth.json"))).toMatchObject({
    providers: { "minimax-oauth": { access_token: "access-token-1", tls: { ca_bundle: secure.certificateFile } } },
  })
})
