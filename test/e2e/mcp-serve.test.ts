import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { expect, test } from "vitest"

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

  async function call(name: string, args: Record<string, unknown>): Promise<string> {
    return JSON.stringify((await client.callTool({ name, arguments: args })).content).replaceAll("\\", "")
  }
})
