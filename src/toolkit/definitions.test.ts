import { describe, expect, test } from "vitest"

import type { JsonSchema } from "../protocol/tool.ts"
import { createDefinitionSource, type ToolSelection } from "./definitions.ts"
import { createToolRegistry } from "./registry.ts"
import type { ToolEntry } from "./tool.ts"
import type { ToolsetScope } from "./toolsets.ts"

const EMPTY: JsonSchema = { type: "object", properties: {} }

describe("the selection", () => {
  test.each<{ name: string; selection: ToolSelection; wanted: readonly string[] }>([
    { name: "nothing named", selection: {}, wanted: ["kanban_show", "read_file", "todo", "web_search", "write_file"] },
    { name: "two toolsets", selection: { enabled: ["todo", "file"] }, wanted: ["read_file", "todo", "write_file"] },
    { name: "disabled beats enabled", selection: { enabled: ["file", "todo"], disabled: ["file"] }, wanted: ["todo"] },
    {
      name: "disabled beats the board",
      selection: { enabled: ["todo"], disabled: ["kanban"], kanbanWorker: true },
      wanted: ["todo"],
    },
    {
      name: "a worker of the board",
      selection: { enabled: ["todo"], kanbanWorker: true },
      wanted: ["kanban_show", "todo"],
    },
    {
      name: "names of the Python edition",
      selection: { enabled: ["file_tools", "web_tools"], disabled: ["image_tools"] },
      wanted: ["read_file", "web_search", "write_file"],
    },
    { name: "an empty list", selection: { enabled: [] }, wanted: [] },
  ])("$name", async ({ selection, wanted }) => {
    const { source, lines } = setUp()
    expect((await source.getToolDefinitions(selection)).map(({ name }) => name)).toEqual(wanted)
    expect(lines).toEqual([])
  })

  test("a toolset that does not exist is warned about and the others survive", async () => {
    const { source, lines } = setUp()
    const definitions = await source.getToolDefinitions({ enabled: ["nothing", "todo"] })
    expect(definitions.map(({ name }) => name)).toEqual(["todo"])
    expect(lines).toEqual(['warning there is no toolset "nothing"; it is skipped'])
  })

  test("own toolsets of the settings count", async () => {
    const { source } = setUp({ custom: { mine: { description: "", tools: ["todo"], includes: [] } } })
    expect((await source.getToolDefinitions({ enabled: ["mine"] })).map(({ name }) => name)).toEqual(["todo"])
  })
})

describe("the bridges to deferred tools", () => {
  const bridges = ["tool_call", "tool_describe", "tool_search"]
  test.each<{ name: string; selection: ToolSelection; wanted: readonly string[] }>([
    { name: "come with every list", selection: { enabled: ["todo"] }, wanted: ["todo", ...bridges] },
    { name: "are left out when not wanted", selection: { enabled: ["todo"], skipToolSearch: true }, wanted: ["todo"] },
    {
      name: "are left out of everything too",
      selection: { skipToolSearch: true },
      wanted: ["kanban_show", "read_file", "todo", "web_search", "write_file"],
    },
    { name: "do not come alone", selection: { enabled: ["tool_search"] }, wanted: [] },
    { name: "can be disabled", selection: { enabled: ["todo"], disabled: ["tool_search"] }, wanted: ["todo"] },
  ])("$name", async ({ selection, wanted }) => {
    const { registry, source } = setUp()
    for (const name of bridges) registry.register(tool(name, "tool_search"))
    const listed = async (how: ToolSelection): Promise<readonly string[]> =>
      (await source.getToolDefinitions(how)).map(({ name }) => name)
    expect(await listed(selection)).toEqual(wanted)
    // An answer from memory for one kind of list is none for the other.
    const { skipToolSearch = false } = selection
    await listed({ ...selection, quiet: true, skipToolSearch: !skipToolSearch })
    expect(await listed({ ...selection, quiet: true })).toEqual(wanted)
  })
})

describe("one definition", () => {
  test("has a sanitised schema and nothing but what the model needs", async () => {
    const { registry, source } = setUp()
    registry.register({ ...tool("todo", "todo"), parameters: { properties: { a: { type: ["string", "null"] } } } })
    expect(await source.getToolDefinitions({ enabled: ["todo"] })).toEqual([
      {
        name: "todo",
        description: "static",
        parameters: { type: "object", properties: { a: { type: "string", nullable: true } } },
      },
    ])
  })

  test("is left out when its probe says no", async () => {
    const { registry, source } = setUp()
    registry.register({ ...tool("todo", "todo"), available: async () => false })
    expect(await source.getToolDefinitions({ enabled: ["todo"] })).toEqual([])
  })

  test("takes its dynamic part, which sees the tools of the list", async () => {
    const { registry, source } = setUp()
    registry.register({ ...tool("gone", "todo"), available: () => false })
    registry.register({
      ...tool("todo", "todo"),
      describe: (listed) => ({ description: `beside ${[...listed].join(" ")}` }),
    })
    expect(await source.getToolDefinitions({ enabled: ["todo", "search"] })).toMatchObject([
      { name: "todo", description: "beside todo web_search", parameters: EMPTY },
      { name: "web_search", description: "static" },
    ])
  })

  test("falls back to the static part when the dynamic one throws", async () => {
    const { registry, source, lines } = setUp()
    registry.register({
      ...tool("todo", "todo"),
      describe: () => {
        throw new Error("broken")
      },
    })
    expect(await source.getToolDefinitions({ enabled: ["todo"] })).toEqual([
      { name: "todo", description: "static", parameters: EMPTY },
    ])
    expect(lines).toEqual(["debug the dynamic description of todo failed, so the static one is used: broken"])
  })

  test("is left out when the dynamic part is null", async () => {
    const { registry, source } = setUp()
    registry.register({ ...tool("todo", "todo"), describe: () => null })
    expect(await source.getToolDefinitions({ enabled: ["todo"] })).toEqual([])
  })
})

describe("answers from memory", () => {
  const selection = { enabled: ["todo", "file"], quiet: true }

  test("are equal lists in distinct arrays; changing one changes no other", async () => {
    const { source, described } = setUp()
    const first = [...(await source.getToolDefinitions(selection))]
    const second = await source.getToolDefinitions({ enabled: ["file", "todo", "file"], quiet: true })
    expect(second).toEqual(first)
    expect(second).not.toBe(await source.getToolDefinitions(selection))
    ;(second as unknown[]).length = 0
    expect(await source.getToolDefinitions(selection)).toEqual(first)
    expect(described.count).toBe(1)
  })

  test.each<[string, (parts: ReturnType<typeof setUp>) => void]>([
    ["a changed settings file", ({ settings }) => (settings.stamp = "2:11")],
    ["a registered tool", ({ registry }) => registry.register(tool("new", "new"))],
    ["a changed key", ({ registry }) => registry.invalidateCheckCache()],
  ])("are forgotten after %s", async (_what, change) => {
    const parts = setUp()
    await parts.source.getToolDefinitions(selection)
    change(parts)
    await parts.source.getToolDefinitions(selection)
    expect(parts.described.count).toBe(2)
  })

  test("tell apart the board, the disabled toolsets and a list that is not quiet", async () => {
    const { source, described } = setUp()
    await source.getToolDefinitions(selection)
    await source.getToolDefinitions({ ...selection, kanbanWorker: true })
    await source.getToolDefinitions({ ...selection, disabled: ["file"] })
    await source.getToolDefinitions({ enabled: selection.enabled })
    expect(described.count).toBe(4)
  })

  test("are eight at most; the oldest goes first", async () => {
    const { source, described } = setUp()
    const ask = (index: number) =>
      source.getToolDefinitions({ enabled: ["todo"], disabled: [`mcp-${index}`], quiet: true })
    for (let index = 0; index < 9; index += 1) await ask(index)
    expect(described.count).toBe(9)
    await ask(1)
    expect(described.count).toBe(9)
    await ask(0)
    expect(described.count).toBe(10)
  })
})

function setUp(additions: Omit<ToolsetScope, "snapshot"> = {}) {
  const lines: string[] = []
  const line = (level: string) => (message: string) => {
    lines.push(`${level} ${message}`)
  }
  const log = { debug: line("debug"), info: line("info"), warning: line("warning"), error: line("error") }
  const registry = createToolRegistry({ clock: { now: () => 0, sleep: async () => {} }, log })
  const described = { count: 0 }
  registry.register(tool("write_file", "file"))
  registry.register(tool("read_file", "file"))
  registry.register(tool("web_search", "web"))
  registry.register(tool("kanban_show", "kanban"))
  registry.register({
    ...tool("todo", "todo"),
    describe: () => {
      described.count += 1
      return {}
    },
  })
  const settings = { stamp: "1:10" }
  const source = createDefinitionSource({
    registry,
    log,
    configStamp: () => settings.stamp,
    additions: () => additions,
  })
  return { registry, source, lines, described, settings }
}

function tool(name: string, toolset: string): ToolEntry {
  return {
    name,
    toolset,
    description: "static",
    parameters: EMPTY,
    source: { kind: "builtin" },
    load: () => Promise.reject(new Error("never loaded here")),
  }
}
