import { readFileSync, writeFileSync } from "node:fs"
import { expect, test } from "vitest"

import { systemClock } from "../../../base/clock.ts"
import { createLogger } from "../../../base/logger.ts"
import { toolsetList } from "../../../commands/lists/toolset-list.ts"
import { environmentFrom } from "../../../config/environment.ts"
import { createCliHome, type CliHome } from "../../../../test/support/cli-home.ts"

test("the list of the screen enables and disables the chosen toolset", async () => {
  using home = createCliHome()
  const list = toolsetList({
    home: home.home,
    environment: environmentFrom(home.variables),
    clock: systemClock,
    log: createLogger({ sinks: [], clock: systemClock, redact: (line) => line }),
  })
  const { signal } = new AbortController()
  const labelOf = async (): Promise<string | undefined> =>
    (await list.load(signal)).choices.find(({ value }) => value === "todo")?.label
  expect(await labelOf()).toBe("[x] todo")
  expect(await list.select?.("todo", { mode: undefined, signal })).toEqual({
    kind: "back",
    note: "todo is disabled in new sessions.",
  })
  expect(await labelOf()).toBe("[ ] todo")
  await list.select?.("todo", { mode: undefined, signal })
  expect(await labelOf()).toBe("[x] todo")
})

async function enabledToolsets(home: CliHome): Promise<readonly string[]> {
  const listed: unknown = JSON.parse((await home.run(["tools", "list", "--json"])).out)
  return Array.isArray(listed)
    ? listed.flatMap((entry: { name: string; enabled: boolean }) => (entry.enabled ? [entry.name] : []))
    : []
}

test("toolsets are listed, enabled and disabled; an unknown one does not stop the others", async () => {
  using home = createCliHome()
  expect(await enabledToolsets(home)).toContain("file")
  const disabled = await home.run(["tools", "disable", "file", "fiel", "todo"])
  expect(disabled).toMatchObject({
    code: 1,
    out: "file is disabled in new sessions.\ntodo is disabled in new sessions.\n",
    err: "There is no toolset fiel; `hermes tools list` shows them.\n",
  })
  expect(await enabledToolsets(home)).not.toContain("file")
  expect((await home.run(["tools", "disable", "file"])).out).toBe("file is disabled already.\n")
  expect(await home.run(["tools", "enable", "file"])).toMatchObject({
    code: 0,
    out: "file is enabled in new sessions.\n",
  })
  expect(await enabledToolsets(home)).toContain("file")
  expect(readFileSync(home.home.file("config.yaml"), "utf8")).toContain("- todo")
  expect((await home.run(["tools"])).out).toMatch(/^todo +disabled +todo/mu)
  expect(await home.run(["tools", "list", "--platform", "telegram"])).toMatchObject({ code: 1 })
})

test("a toolset that `toolsets` does not include is added to it, and tools of MCP servers are selected", async () => {
  using home = createCliHome()
  writeFileSync(home.home.file("config.yaml"), "toolsets: [file]\nmcp_servers:\n  notes: {command: notes}\n")
  expect(await enabledToolsets(home)).toEqual(["file", "notes"])
  await home.run(["tools", "enable", "terminal"])
  expect(await enabledToolsets(home)).toEqual(["file", "terminal", "notes"])
  expect(await home.run(["tools", "disable", "notes:write", "other:x"])).toMatchObject({
    code: 1,
    out: "notes:write is disabled in new sessions.\n",
    err: "There is no MCP server other; `hermes mcp list` shows them.\n",
  })
  expect(readFileSync(home.home.file("config.yaml"), "utf8")).toMatch(/exclude:\s*\n? *(?:- write|\[ ?write ?\])/u)
  expect((await home.run(["tools", "enable", "notes:write"])).out).toBe("notes:write is enabled in new sessions.\n")
  await home.run(["tools", "disable", "notes"])
  expect(await enabledToolsets(home)).toEqual(["file", "terminal"])
})
