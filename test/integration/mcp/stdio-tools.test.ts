import { expect, test } from "vitest"

import { callsTool, says } from "../../support/model-server/turn.ts"
import { fixtureCommand, mcpConfig } from "../../support/mcp/fixture-servers.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

test("a tool of a server is found and called through the bridge", async () => {
  await using app = await assembleApp(
    [
      callsTool("tool_search", { query: "repeats a text" }),
      callsTool("tool_call", { name: "mcp_fix_echo", arguments: { text: "hello from the server" } }),
      says("Done."),
    ],
    { config: mcpConfig({ fix: fixtureCommand() }) },
  )
  const session = await app.open({ permissionProfile: "full-auto" })
  const { events } = await runToEnd(session, "use the server")
  const results = events.flatMap((event) =>
    event.type === "tool-end" ? [[event.call.name, event.outcome, event.summary]] : [],
  )
  expect(results).toEqual([
    ["tool_search", "ok", expect.stringContaining("mcp_fix_echo")],
    ["mcp_fix_echo", "ok", "hello from the server"],
  ])
})
