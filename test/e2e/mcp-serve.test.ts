import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { expect, test } from "vitest"

import { bridgeToStdio } from "../support/mcp/stdio-bridge.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor } from "./hermes-process.ts"

test("another program lists and reads the conversations of the home, and every tool only reads", async () => {
  await using model = await startModelServer([says("The answer is 42.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  expect((await hermes(home, ["-z", "what is the answer?"])).code).toBe(0)
  const [command, script] = hermesCommand()
  const transport = new StdioClientTransport({
    command,
    args: [script, "mcp", "serve"],
    env: { ...home.env },
    stderr: "ignore",
  })
  const client = new Client({ name: "test", version: "1.0.0" })
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

/**
 * The official suite speaks HTTP, so each session is bridged to a process. The other scenarios test HTTP itself, or need tools, prompts and
 * resources that only a test server has.
 */
test.each([
  ["2025-11-25", ["server-initialize", "ping", "tools-list"]],
  ["2026-07-28", ["tools-list"]],
])(
  "the server passes the scenarios of %s for a stdio server",
  async (version, scenarios) => {
    await using home = await temporaryHome()
    const [command, script] = hermesCommand()
    await using bridge = await bridgeToStdio([command, script, "mcp", "serve"], { env: home.env })
    const failures = await Promise.all(
      scenarios.map(async (scenario) => {
        const args = ["server", "--url", bridge.url, "--scenario", scenario, "--spec-version", version]
        const { stdout } = await promisify(execFile)(process.execPath, [SUITE, ...args], { cwd: home.workdir }).catch(
          (error: { readonly stdout: string }) => error,
        )
        return /^Passed: (\d+)\/\1, 0 failed/mu.test(stdout) ? [] : [`${scenario}: ${stdout}`]
      }),
    )
    expect(failures.flat()).toEqual([])
  },
  60_000,
)

const SUITE = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
)
