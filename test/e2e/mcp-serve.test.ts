import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { expect, test } from "vitest"

import { startBearerProxy } from "../support/mcp/bearer-proxy.ts"
import { REVISIONS, runServerSuite } from "../support/mcp/conformance-suite.ts"
import { UNCHANGED_SCENARIOS } from "../support/mcp/unchanged-scenarios.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor, startHermes } from "./hermes-process.ts"

test("another program lists and reads the conversations of the home, and asks its user where a rule asks", async () => {
  await using model = await startModelServer([says("The answer is 42.")])
  const rule = "approvals:\n  rules:\n    - { pattern: conversation_get, decision: ask }\n"
  await using home = await temporaryHome({ config: settingsFor(model, rule) })
  expect((await hermes(home, ["-z", "what is the answer?"])).code).toBe(0)
  const [command, script] = hermesCommand()
  const transport = new StdioClientTransport({
    command,
    args: [script, "mcp", "serve"],
    env: { ...home.env },
    stderr: "ignore",
  })
  const client = new Client({ name: "test", version: "1.0.0" }, { capabilities: { elicitation: { form: {} } } })
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { answer: "Allow once" } }))
  await client.connect(transport)
  try {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name).toSorted()).toEqual([
      "attachments_fetch",
      "conversation_get",
      "conversations_list",
      "events_poll",
      "events_wait",
      "messages_read",
    ])
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)).toEqual([])
    const listed = await call("conversations_list", {})
    const [, key = ""] = /"session_key":"([^"]+)"/u.exec(listed) ?? []
    expect(await call("messages_read", { session_key: key })).toContain("The answer is 42.")
    expect(await call("messages_read", { session_key: "nothing" })).toContain("there is no conversation nothing")
    expect(await call("conversation_get", { session_key: key })).toContain('"message_count":2')
  } finally {
    await client.close()
  }
  const audit = readFileSync(join(home.path, "logs", "audit.jsonl"), "utf8")
    .trim()
    .split("\n")
  expect(audit.filter((line) => line.includes('"platform":"mcp"'))).toEqual([
    expect.stringContaining('"tool":"conversations_list"'),
    expect.stringContaining('"tool":"messages_read"'),
    expect.stringContaining('"tool":"messages_read"'),
    expect.stringMatching(/"tool":"conversation_get".*"decided_by":"user"/u),
  ])

  async function call(name: string, args: Record<string, unknown>): Promise<string> {
    return JSON.stringify((await client.callTool({ name, arguments: args })).content).replaceAll("\\", "")
  }
})

test("the SDK in the bundle writes nothing to the terminal, because its warnings contain text of servers", () => {
  const [, script] = hermesCommand()
  const chunks = join(script, "..", "chunks")
  const warning = readdirSync(chunks).filter((name) =>
    /console\.warn\([`"']\[mcp-sdk\]/u.test(readFileSync(join(chunks, name), "utf8")),
  )
  expect(warning).toEqual([])
})

test("over HTTP the built command passes the scenarios that need nothing of the suite's own, and stops on SIGTERM", async () => {
  await using home = await temporaryHome({ env: { API_SERVER_KEY: "key-for-the-suite" } })
  await using server = startHermes(home, ["mcp", "serve", "--http", "--port", "0"])
  await server.waitForOutput(/Serving MCP at \S+\n/u)
  const [, url = ""] = /Serving MCP at (\S+)/u.exec(server.stdout) ?? []
  await using proxy = await startBearerProxy(url, "key-for-the-suite")
  for (const version of REVISIONS) {
    const { scenarios } = await runServerSuite(proxy.url, version, (name) => UNCHANGED_SCENARIOS.includes(name))
    const passed = [...scenarios].filter(([, { failed }]) => failed === 0).map(([name]) => name)
    const applicable = UNCHANGED_SCENARIOS.filter((name) => scenarios.has(name))
    expect(passed).toEqual(expect.arrayContaining(applicable))
    expect(applicable.length).toBeGreaterThan(8)
  }
  server.signal("SIGTERM")
  expect((await server.exit).code).toBe(0)
}, 60_000)

test("flags that need --http, and a missing key, are one sentence", async () => {
  await using home = await temporaryHome()
  const port = await hermes(home, ["mcp", "serve", "--port", "9000"])
  expect(port).toMatchObject({ code: 2, stderr: expect.stringContaining("--port needs --http.") })
  const key = await hermes(home, ["mcp", "serve", "--http"])
  expect(key).toMatchObject({ code: 2, stderr: expect.stringContaining("hermes config set API_SERVER_KEY") })
  expect((await hermes(home, ["config", "set", "API_SERVER_KEY", "key-of-the-user"])).code).toBe(0)
  expect(readFileSync(join(home.path, ".env"), "utf8")).toContain("API_SERVER_KEY=key-of-the-user")
})

test("a host that tries the newest protocol first and then an older one is served", async () => {
  await using home = await temporaryHome()
  await using server = startHermes(home, ["mcp", "serve"])
  const send = async (id: number, method: string, params: Readonly<Record<string, unknown>>): Promise<void> => {
    server.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`)
    await server.waitForOutput(`"id":${id}`)
  }
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  }
  await send(1, "server/discover", { _meta })
  const clientInfo = { name: "test", version: "1.0.0" }
  await send(2, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo })
  await send(3, "tools/list", {})
  expect(server.stdout).toContain("conversations_list")
  server.closeStdin()
  expect((await server.exit).code).toBe(0)
})
