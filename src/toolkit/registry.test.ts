import { describe, expect, test } from "vitest"

import { createToolRegistry } from "./registry.ts"
import type { ToolEntry } from "./tool.ts"

describe("registering", () => {
  test("refuses a name of another toolset: the existing tool stays", () => {
    const { registry, errors } = setUp()
    registry.register(tool("read_file", "file"))
    const before = registry.snapshot()
    const refused = registry.register(tool("read_file", "other"))
    const sentence = "tool read_file of toolset other was not registered: toolset file already has a tool of that name"
    expect(refused).toEqual({ ok: false, error: sentence })
    expect(registry.snapshot()).toEqual(before)
    expect(errors).toEqual([sentence])
  })

  test("replaces a tool of the same toolset", () => {
    const { registry, errors } = setUp()
    registry.register(tool("a", "x"))
    const replacement = tool("a", "x")
    expect(registry.register(replacement).ok).toBe(true)
    expect(registry.get("a")).toBe(replacement)
    expect(errors).toEqual([])
  })

  test.each(["", "a-b", "a b", "é", "x".repeat(65)])("refuses the name %j", (name) => {
    const { registry } = setUp()
    expect(registry.register(tool(name, "file")).ok).toBe(false)
    expect(registry.snapshot().tools).toEqual(new Map())
  })
})

test("a snapshot does not change with later registrations", () => {
  const { registry } = setUp()
  registry.register(tool("a", "x"))
  const snapshot = registry.snapshot()
  registry.register(tool("b", "x"))
  expect([...snapshot.tools.keys()]).toEqual(["a"])
})

function setUp() {
  const errors: string[] = []
  const registry = createToolRegistry({ log: { error: (message) => errors.push(message) } })
  return { registry, errors }
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
