import { appendFile } from "node:fs/promises"
import { join } from "node:path"

import { fixtureCommand, mcpConfig } from "../support/mcp/fixture-servers.ts"
import type { Measurement } from "./measurement.ts"
import { median } from "./measurement.ts"
import { runAlternately, timeCommand } from "./rounds.ts"
import type { ScriptedModel } from "./scripted-model.ts"
import { startScriptedModel } from "./scripted-model.ts"

const SERVERS = 10
const TOOLS_EACH = 20
const REPLY = "Hello."

/** What ten known MCP servers with twenty tools each add to the first request of a one-shot and to the time until it is sent. */
export const mcpServers: Measurement = {
  name: "mcp-servers",
  run: async ({ rounds }) => {
    await using without = await startScriptedModel([{ text: REPLY }])
    await using model = await startScriptedModel([{ text: REPLY }])
    const names = Array.from({ length: SERVERS }, (_, index) => `server${index}`)
    const servers = names.map((name) => [name, fixtureCommand({ count: TOOLS_EACH, prefix: name })] as const)
    await appendFile(join(model.home.path, "config.yaml"), mcpConfig(Object.fromEntries(servers)))
    for (const name of names) await timeCommand(model.hermes("mcp", "test", name))
    const once = async (side: ScriptedModel) => {
      const run = await timeCommand(side.hermes("-z", "Say hello."))
      const [request] = await side.takeRequests()
      if (request === undefined) throw new Error("expected a request")
      return { ms: request.at - run.startedAt, bytes: Buffer.byteLength(request.rawBody) }
    }
    const found = await runAlternately(rounds.oneShot, { ours: () => once(model), floor: () => once(without) })
    const added = (field: "ms" | "bytes"): number =>
      median(found.ours.map((run) => run[field])) - median(found.floor.map((run) => run[field]))
    return [
      { name: "200 MCP tools, added to the start", unit: "ms", ours: added("ms"), target: { atMost: 30 } },
      {
        name: "200 MCP tools, added to the first request",
        unit: "bytes",
        ours: added("bytes"),
        target: { atMost: 2000 },
      },
    ]
  },
}
