import { McpServer } from "@modelcontextprotocol/server"
import { expect, test } from "vitest"

import { manualClock } from "../../../../test/support/manual-clock.ts"
import { createHttpSessions } from "./http-sessions.ts"

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
}

test("when too many clients are connected, a new one replaces the one that was silent for longest", async () => {
  const clock = manualClock()
  const sessions = createHttpSessions(() => new McpServer({ name: "test", version: "1" }), { clock, maxBytes: 10_000 })
  const send = async (body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> => {
    const accepts = { "content-type": "application/json", accept: "application/json, text/event-stream" }
    const request = { method: "POST", headers: { ...accepts, ...headers }, body: JSON.stringify(body) }
    const response = await sessions.handle(new Request("http://localhost/mcp", request))
    await response.body?.cancel()
    return response
  }
  const first = await send(INITIALIZE)
  const id = first.headers.get("mcp-session-id") ?? ""
  for (let count = 1; count < 64; count += 1) await send(INITIALIZE)
  const refused = await send(INITIALIZE)
  expect([first.status, refused.status]).toEqual([200, 503])
  const ping = { jsonrpc: "2.0", id: 2, method: "ping" }
  await clock.advance(1000)
  expect((await send(ping, { "mcp-session-id": id })).status).toBe(200)
  await clock.advance(6 * 60_000)
  expect((await send(INITIALIZE)).status).toBe(200)
  expect((await send(ping, { "mcp-session-id": id })).status).toBe(200)
  await sessions.close()
  expect((await send(ping, { "mcp-session-id": id })).status).toBe(404)
})
