import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { mkdirSync, writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { createCliHome, type CliHome } from "../../../test/support/cli-home.ts"
import { startForwardProxy } from "../../../test/support/forward-proxy.ts"
import { startModelServer } from "../../../test/support/model-server/server.ts"
import { startTokenOf } from "../../exec/process-tree.ts"

const SECRET = "sk-0123456789abcdefghijklmn"

function configuredHome(): CliHome {
  const home = createCliHome()
  writeFileSync(home.home.file(".env"), `OPENROUTER_API_KEY=${SECRET}\nTELEGRAM_BOT_TOKEN=12345678:${"A".repeat(35)}\n`)
  writeFileSync(
    home.home.file("config.yaml"),
    `model:\n  default: test/model\nagent:\n  max_turns: 7\n  system_prompt: my private words\nmcp_servers:\n  gh:\n    command: gh\n    env:\n      GITHUB_TOKEN: ${SECRET}\n`,
  )
  mkdirSync(home.home.file("cron"))
  writeFileSync(
    home.home.file("cron", "jobs.json"),
    JSON.stringify({ jobs: [{ id: "a" }, { id: "b", enabled: false }] }),
  )
  return home
}

describe("status", () => {
  test("a fresh home runs on the demo model", async () => {
    using home = createCliHome()
    const { code, out, err } = await home.run(["status"])
    expect({ code, err }).toEqual({ code: 0, err: "" })
    expect(out).toMatch(/ {2}model +hermes-demo \(nothing is configured/)
    expect(out).toMatch(/ {2}total +0\n/)
  })

  test("--json has the facts and no secret", async () => {
    using home = configuredHome()
    const { out } = await home.run(["status", "--json"])
    expect(JSON.parse(out)).toMatchObject({
      profile: "default",
      home: "~/.hermes",
      model: { name: "test/model", provider: "openrouter", demo: false },
      jobs: { active: 1, total: 2 },
      mcp_servers: 1,
      platforms: ["telegram"],
      keys_set: ["OPENROUTER_API_KEY"],
      sessions: { today: 0, total: 0 },
      provider_reachable: null,
    })
    expect(out).not.toContain(SECRET)
  })

  test("background processes of an earlier Hermes are counted and named, with what ends them", async () => {
    using home = createCliHome()
    const entry = (pid: number, command: string) => ({
      session_id: "proc_1",
      command,
      cwd: "/",
      pid,
      host_start_time: Number(startTokenOf(pid)),
      started_at: 1,
      task_id: "s",
      notify_on_complete: false,
    })
    // This process stands for one that still runs; the other one has ended.
    const entries = [entry(process.pid, "npm run dev\n# server"), { ...entry(process.pid, "ended"), pid: 2 ** 22 + 1 }]
    writeFileSync(home.home.file("processes.json"), JSON.stringify(entries))
    const { out } = await home.run(["status"])
    expect(out).toContain(
      `Background processes (1)\n  pid ${String(process.pid).padEnd(8)} npm run dev # server\n  to end them  start \`hermes\` and type /stop\n`,
    )
    const json: unknown = JSON.parse((await home.run(["status", "--json"])).out)
    expect(json).toMatchObject({ background_processes: [{ command: "npm run dev\n# server", pid: process.pid }] })
  })

  test("--all shows no part of a key", async () => {
    using home = configuredHome()
    const { out } = await home.run(["status", "--all"])
    expect(out).toMatch(/OPENROUTER_API_KEY +set\n/)
    expect(out).not.toContain("sk-0")
  })

  test("a damaged database and a broken configuration do not stop it", async () => {
    using home = createCliHome()
    writeFileSync(home.home.file("state.db"), "no database".repeat(1000))
    writeFileSync(home.home.file("config.yaml"), "a: [")
    const { code, out, err } = await home.run(["status"])
    expect(code).toBe(0)
    expect(out).toMatch(/ {2}total +0\n/)
    expect(err).toMatch(/^state\.db was not a session database, .* kept the damaged file as .*\n$/)
    expect((await home.run(["status"])).err).toBe("")
  })

  test.each([
    [200, "ok", "answers"],
    [401, "failure", "refuses the key"],
    [402, "failure", "has no credit left for this key"],
    [404, "ok", "answers, but does not list its models, so the key was not checked"],
    [429, "warning", "limits the rate at the moment"],
    [500, "warning", "answers with code 500"],
  ])("--deep reports the response of the provider: %i", async (status, level, text) => {
    const server = createServer((_request, response) => response.writeHead(status).end("{}"))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    using home = createCliHome()
    const { port } = server.address() as AddressInfo
    writeFileSync(
      home.home.file("config.yaml"),
      `model:\n  base_url: http://127.0.0.1:${port}/v1\n  default: m\n  api_key: k\n`,
    )
    const { out } = await home.run(["status", "--deep", "--json"])
    server.close()
    expect((JSON.parse(out) as { provider_reachable: unknown }).provider_reachable).toEqual({ level, text })
  })
})

describe("the provider is asked as a session would ask it", () => {
  test.each([
    ["anthropic", "", "GET /v1/models?limit=1000", { "x-api-key": "sk-ant-api-k", "anthropic-version": "2023-06-01" }],
    ["gemini", "/v1beta", "GET /v1beta/models?pageSize=1000", { "x-goog-api-key": "sk-ant-api-k" }],
    ["azure-foundry", "/openai/v1", "GET /openai/v1/models", { "api-key": "sk-ant-api-k" }],
    ["deepseek", "/v1", "GET /v1/models", { authorization: "Bearer sk-ant-api-k" }],
  ])("%s", async (provider, path, request, headers) => {
    const received: { line: string; headers: object }[] = []
    const server = createServer((incoming, response) => {
      received.push({ line: `${incoming.method} ${incoming.url}`, headers: incoming.headers })
      response.writeHead(200).end('{"data": []}')
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    using home = createCliHome()
    const { port } = server.address() as AddressInfo
    writeFileSync(
      home.home.file("config.yaml"),
      `model:\n  provider: ${provider}\n${provider === "gemini" ? "  api_mode: gemini_native\n" : ""}  base_url: http://127.0.0.1:${port}${path}\n  default: m\n  api_key: sk-ant-api-k\n`,
    )
    const { out } = await home.run(["doctor"])
    server.close()
    expect(out).toContain(`✓ http://127.0.0.1:${port}${path} answers\n`)
    expect(received).toEqual([{ line: request, headers: expect.objectContaining(headers) }])
  })

  test("through the proxy of the environment", async () => {
    await using proxy = await startForwardProxy()
    await using server = await startModelServer([], { models: ["m"] })
    proxy.forwardTo(server.url)
    using home = createCliHome()
    writeFileSync(
      home.home.file("config.yaml"),
      "model:\n  base_url: http://models.example/v1\n  default: m\n  api_key: k\n",
    )
    const { out } = await home.run(["doctor"], { variables: { HTTP_PROXY: proxy.url } })
    expect(out).toContain("✓ http://models.example/v1 answers\n")
    expect(proxy.requests).toEqual(["http://models.example/v1/models"])
  })
})

test("a damaged auth.json is reported by doctor, status and auth list, not taken for an empty one", async () => {
  using home = createCliHome()
  writeFileSync(home.home.file("auth.json"), '{"providers": {')
  const sentence = "~/.hermes/auth.json is damaged; a copy is in ~/.hermes/auth.json.corrupt"
  expect((await home.run(["doctor"])).out).toContain(`✗ ${sentence}`)
  expect((await home.run(["status"])).out).toContain(sentence)
  expect((await home.run(["auth", "list"])).err).toContain(sentence)
  expect((await home.run(["-z", "hi", "--provider", "deepseek", "-m", "m"])).err).toContain(sentence)
})

test("credentials in cooldown are reported as such", async () => {
  using home = createCliHome()
  const until = Math.floor(Date.now() / 1000) + 1800
  const entry = {
    id: "a1",
    label: "mine",
    auth_type: "api_key",
    priority: 0,
    source: "manual",
    access_token: "sk-1",
    last_status: "exhausted",
    last_status_at: Math.floor(Date.now() / 1000),
    last_error_code: 429,
    last_error_reset_at: until,
  }
  writeFileSync(
    home.home.file("auth.json"),
    JSON.stringify({ version: 1, providers: {}, credential_pool: { deepseek: [entry] } }),
  )
  writeFileSync(home.home.file("config.yaml"), "model:\n  provider: deepseek\n  default: deepseek-chat\n")
  const { out } = await home.run(["doctor"])
  expect(out).toMatch(
    /⚠ deepseek-chat from deepseek: the only credential is in cooldown; the first is used again in (29|30) minutes/,
  )
})

describe("dump", () => {
  test("is plain text between its marks, with changed settings and without secrets or private words", async () => {
    using home = configuredHome()
    const { code, out } = await home.run(["dump"])
    expect(code).toBe(0)
    expect(out).toMatch(/^--- hermes dump ---\nversion: /)
    expect(out).toMatch(/--- end dump ---\n$/)
    expect(out).toContain("\nhome: ~/.hermes\n")
    expect(out).toContain("  OPENROUTER_API_KEY: set\n")
    expect(out).toContain("  ANTHROPIC_API_KEY: not set\n")
    expect(out).toContain("  cron_jobs: 1 active / 2 total\n")
    expect(out).toContain("  agent.max_turns: 7\n")
    expect(out).not.toContain("private words")
    expect(out).not.toContain(SECRET)
    expect(out).not.toContain("sk-0")
  })

  test("--show-keys masks", async () => {
    using home = configuredHome()
    expect((await home.run(["dump", "--show-keys"])).out).toContain("  OPENROUTER_API_KEY: sk-0...klmn\n")
  })
})
