import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import type { Session } from "../../../src/app/session/session.ts"
import { isProcessAlive } from "../../../src/base/process-alive.ts"
import { reply } from "../../../src/commands/slash-command.ts"
import type { SlashOutcome } from "../../../src/commands/slash-command.ts"
import { runSlashCommand } from "../../../src/commands/slash-table.ts"
import { manualClock } from "../../support/manual-clock.ts"
import { fixtureCommand, mcpConfig } from "../../support/mcp/fixture-servers.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"

const search = callsTool("tool_search", { query: "repeats a text" })

function slash(
  app: AssembledApp,
  session: Session,
  answers: readonly boolean[] = [],
): (line: string) => Promise<SlashOutcome> {
  const remaining = [...answers]
  return (line) =>
    runSlashCommand(line, {
      app: app.app,
      session,
      open: () => Promise.reject(new Error("not here")),
      confirm: () => Promise.resolve(remaining.shift() ?? false),
      running: false,
      signal: new AbortController().signal,
    })
}

function changeServers(app: AssembledApp, servers: Readonly<Record<string, object>>): void {
  const file = join(app.home.path, "config.yaml")
  const kept = readFileSync(file, "utf8").replace(/^mcp_servers:.*\n/mu, "")
  writeFileSync(file, `${kept}${mcpConfig(servers)}`)
}

test("/reload-mcp replaces the servers by those of the changed settings, after a question", async () => {
  const echo = (server: string) =>
    callsTool("tool_call", { name: `mcp_${server}_echo`, arguments: { text: `from ${server}` } })
  await using app = await assembleApp([search, says("One."), echo("two"), echo("old"), says("Two.")], {
    config: mcpConfig({ old: fixtureCommand({ log: "/dev/null" }) }),
  })
  const log = join(app.home.path, "starts")
  changeServers(app, { old: fixtureCommand({ log }) })
  await using again = await app.restart()
  const session = await again.open({ permissionProfile: "full-auto" })
  await runToEnd(session, "first")
  const [pid] = [...readFileSync(log, "utf8").matchAll(/^start (\d+)$/gmu)].map(([, text]) => Number(text))
  expect(isProcessAlive(pid ?? 0)).toBe(true)
  changeServers(app, { two: fixtureCommand(), dead: { command: "/does/not/exist" } })
  const run = slash(again, session, [false, true])
  expect(await run("/reload-mcp")).toEqual(reply("Nothing was reloaded."))
  expect(isProcessAlive(pid ?? 0)).toBe(true)
  const outcome = await run("/reload-mcp")
  expect(outcome).toEqual(
    reply(
      expect.stringMatching(
        /^1 MCP server connected: two\.\nThe MCP server dead cannot be started: \/does\/not\/exist: .*\.$/u,
      ),
    ),
  )
  expect(isProcessAlive(pid ?? 0)).toBe(false)
  const { events } = await runToEnd(session, "second")
  expect(events.flatMap((event) => (event.type === "tool-end" ? [[event.outcome, event.summary]] : []))).toEqual([
    ["ok", "from two"],
    ["error", expect.stringContaining("Unknown tool: mcp_old_echo")],
  ])
})

test("/reload-mcp does not wait long for a server that hangs", async () => {
  const clock = manualClock()
  await using app = await assembleApp([], { config: mcpConfig({ fix: fixtureCommand() }), clock })
  const session = await app.open()
  changeServers(app, { fix: fixtureCommand(), slow: fixtureCommand({ bad: "silent" }) })
  let outcome: SlashOutcome | undefined
  const reloading = slash(
    app,
    session,
  )("/reload-mcp now").then((reloaded) => {
    outcome = reloaded
  })
  await expect
    .poll(
      async () => {
        const wake = clock.nextWakeTime()
        // The wait of the reload itself, not the limits of the connections.
        if (wake !== undefined && wake - clock.now() <= 10_000) await clock.advance(wake - clock.now())
        return outcome
      },
      { timeout: 10_000 },
    )
    .toBeDefined()
  await reloading
  expect(outcome).toEqual(
    reply(expect.stringContaining("The MCP server slow is still connecting; its tools appear when it answers.")),
  )
})

test("a prompt of a server is a slash command", async () => {
  await using app = await assembleApp([search, says("One.")], {
    config: mcpConfig({ fix: fixtureCommand(), bad: fixtureCommand({ bad: "poisoned-prompt" }) }),
  })
  const session = await app.open()
  await runToEnd(session, "first")
  const run = slash(app, session)
  expect(session.mcp?.prompts()).toContainEqual({
    command: "mcp_fix_review",
    description: "Reviews a file.",
    argument: "path",
  })
  expect(await run("/mcp_fix_review src/a.ts")).toEqual({ kind: "send", text: "Review src/a.ts please." })
  expect(await run("/mcp_fix_review path=b.ts")).toEqual({ kind: "send", text: "Review b.ts please." })
  expect(await run("/mcp_fix_review")).toEqual(reply("The prompt needs path."))
  expect(await run("/mcp_fix_revue x")).toEqual(reply(expect.stringContaining("There is no command /mcp_fix_revue")))
  expect(await run("/mcp_bad_review x")).toEqual(
    reply(expect.stringContaining("The prompt was not sent: it looks like an attack on the model: prompt, line 2:")),
  )
})
