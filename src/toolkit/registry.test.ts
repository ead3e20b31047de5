import { describe, expect, test } from "vitest"

import { createToolRegistry } from "./registry.ts"
import type { ToolEntry } from "./tool.ts"

describe("registering", () => {
  test("a name of another toolset is refused: the old tool stays and nothing changed", () => {
    const { registry, lines } = setUp()
    registry.register(tool("read_file", "file"))
    const before = registry.snapshot()
    const refused = registry.register(tool("read_file", "other"))
    const sentence = "tool read_file of toolset other is left out: toolset file already has a tool of that name"
    expect(refused).toEqual({ ok: false, error: sentence })
    expect(registry.snapshot()).toEqual(before)
    expect(registry.get("read_file")?.toolset).toBe("file")
    expect(lines).toEqual([`error ${sentence}`])
  })

  test("override replaces it and says so", () => {
    const { registry, lines } = setUp()
    registry.register(tool("read_file", "file"))
    expect(registry.register(tool("read_file", "other"), { override: true }).ok).toBe(true)
    expect(registry.get("read_file")?.toolset).toBe("other")
    expect(registry.snapshot().generation).toBe(2)
    expect(lines).toEqual(["info tool read_file of toolset file is now the one of other"])
  })

  test("MCP toolsets may take names from each other, the same toolset replaces its own, both silently", () => {
    const { registry, lines } = setUp()
    registry.register(tool("a", "mcp-one"))
    expect(registry.register(tool("a", "mcp-two")).ok).toBe(true)
    const replacement = tool("a", "mcp-two")
    registry.register(replacement)
    expect(registry.get("a")).toBe(replacement)
    expect(registry.snapshot().generation).toBe(3)
    expect(lines).toEqual([])
  })

  test("an MCP tool cannot take the name of a built-in tool", () => {
    const { registry } = setUp()
    registry.register(tool("a", "file"))
    expect(registry.register(tool("a", "mcp-two")).ok).toBe(false)
  })

  test.each(["", "a-b", "a b", "é", "x".repeat(65)])("the name %j is refused", (name) => {
    const { registry } = setUp()
    expect(registry.register(tool(name, "file")).ok).toBe(false)
    expect(registry.snapshot()).toMatchObject({ generation: 0, tools: new Map() })
  })
})

describe("removing", () => {
  test("the last tool of a toolset takes its aliases and its check with it", async () => {
    const { registry } = setUp()
    registry.register({ ...tool("a", "mcp-s"), available: () => false })
    registry.register(tool("b", "mcp-s"))
    registry.registerAlias("s", "mcp-s")
    expect(registry.deregister("a")).toBe(true)
    expect(registry.snapshot().aliases).toEqual(new Map([["s", "mcp-s"]]))
    expect(await registry.isToolsetAvailable("mcp-s")).toBe(false)
    expect(registry.deregister("b")).toBe(true)
    expect(registry.snapshot().aliases).toEqual(new Map())
    expect(await registry.isToolsetAvailable("mcp-s")).toBe(true)
  })

  test("an unknown tool changes nothing", () => {
    const { registry } = setUp()
    expect(registry.deregister("a")).toBe(false)
    expect(registry.snapshot().generation).toBe(0)
  })
})

describe("aliases", () => {
  test("a second target overwrites with a warning; the same target again is no change", () => {
    const { registry, lines } = setUp()
    registry.registerAlias("s", "mcp-s")
    registry.registerAlias("s", "mcp-s")
    registry.registerAlias("s", "mcp-t")
    expect(registry.snapshot()).toMatchObject({ generation: 2, aliases: new Map([["s", "mcp-t"]]) })
    expect(lines).toEqual(["warning toolset alias s now means mcp-t and no longer mcp-s"])
  })
})

test("a snapshot does not see later changes", () => {
  const { registry } = setUp()
  registry.register(tool("a", "x"))
  const snapshot = registry.snapshot()
  registry.register(tool("b", "x"))
  registry.registerAlias("y", "x")
  expect([...snapshot.tools.keys()]).toEqual(["a"])
  expect(snapshot.aliases.size).toBe(0)
})

describe("availability", () => {
  test("is asked again after 30 s, not before", async () => {
    const { registry, time } = setUp()
    let asked = 0
    const entry = { ...tool("a", "x"), available: () => (asked += 1) === 1 }
    expect(await registry.isAvailable(entry)).toBe(true)
    time.ms += 29_900
    expect(await registry.isAvailable(entry)).toBe(true)
    time.ms += 101
    expect(await registry.isAvailable(entry)).toBe(false)
    expect(asked).toBe(2)
  })

  test("two tools that share a probe ask it once, also while it runs", async () => {
    const { registry } = setUp()
    let asked = 0
    const available = async (): Promise<boolean> => {
      asked += 1
      return true
    }
    const answers = [
      { ...tool("a", "x"), available },
      { ...tool("b", "x"), available },
    ].map((entry) => registry.isAvailable(entry))
    expect(await Promise.all(answers)).toEqual([true, true])
    expect(asked).toBe(1)
  })

  test.each<[string, () => boolean | Promise<boolean>]>([
    [
      "throws",
      () => {
        throw new Error("broken")
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken"))],
  ])("a probe that %s means unavailable", async (_how, available) => {
    const { registry, lines } = setUp()
    expect(await registry.isAvailable({ ...tool("a", "x"), available })).toBe(false)
    expect(lines).toEqual(["debug an availability probe failed, so its tools count as unavailable: broken"])
  })

  test("no probe means available", async () => {
    expect(await setUp().registry.isAvailable(tool("a", "x"))).toBe(true)
  })

  test("a changed setting makes it ask again at once", async () => {
    const { registry } = setUp()
    let answer = false
    const entry = { ...tool("a", "x"), available: () => answer }
    expect(await registry.isAvailable(entry)).toBe(false)
    answer = true
    const { checkEpoch } = registry.snapshot()
    registry.invalidateCheckCache()
    expect(await registry.isAvailable(entry)).toBe(true)
    expect(registry.snapshot().checkEpoch).toBe(checkEpoch + 1)
  })

  test("the first probe of a toolset answers for the toolset", async () => {
    const { registry } = setUp()
    registry.register(tool("a", "x"))
    registry.register({ ...tool("b", "x"), available: () => false })
    registry.register({ ...tool("c", "x"), available: () => true })
    expect(await registry.isToolsetAvailable("x")).toBe(false)
  })
})

function setUp() {
  const time = { ms: 1_000_000 }
  const lines: string[] = []
  const line = (level: string) => (message: string) => {
    lines.push(`${level} ${message}`)
  }
  const registry = createToolRegistry({
    clock: { now: () => time.ms, sleep: async () => {} },
    log: { debug: line("debug"), info: line("info"), warning: line("warning"), error: line("error") },
  })
  return { registry, lines, time }
}

function tool(name: string, toolset: string): ToolEntry {
  return {
    name,
    toolset,
    description: "",
    parameters: { type: "object", properties: {} },
    source: { kind: "builtin" },
    load: () => Promise.reject(new Error("never loaded here")),
  }
}
