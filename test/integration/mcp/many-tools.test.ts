import { expect, test } from "vitest"

import { fixtureCommand, mcpConfig } from "../../support/mcp/fixture-servers.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const SERVERS = Array.from({ length: 10 }, (_, index) => `srv${index}`)
const NUMBERS = Array.from({ length: 20 }, (_, index) => index)

test("each of 200 tools on 10 servers is found and called through the bridge", async () => {
  const names = SERVERS.flatMap((server) => NUMBERS.map((number) => ({ server, tool: `${server}_${number}` })))
  const script = names.flatMap(({ server, tool }) => [
    callsTool("tool_search", { query: `number ${tool.split("_")[1]} of the ${server} family`, limit: 20 }),
    callsTool("tool_call", { name: `mcp_${server}_${tool}`, arguments: { text: "x" } }),
  ])
  await using app = await assembleApp([...script, says("Done.")], {
    config: `${mcpConfig(Object.fromEntries(SERVERS.map((name) => [name, fixtureCommand({ count: 20, prefix: name })])))}agent:\n  max_turns: 1000\n`,
  })
  const { events } = await runToEnd(await app.open({ permissionProfile: "full-auto" }), "use all of them")
  const ends = events.flatMap((event) => (event.type === "tool-end" ? [event] : []))
  const called = ends.filter(({ call, outcome }) => call.name.startsWith("mcp_") && outcome === "ok")
  expect(new Set(called.map(({ call }) => call.name)).size).toBe(200)
  const missed = names.filter(
    ({ server, tool }, index) => ends[index * 2]?.summary.includes(`mcp_${server}_${tool}`) !== true,
  )
  expect(missed).toEqual([])
}, 120_000)
