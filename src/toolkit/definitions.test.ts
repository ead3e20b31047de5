import { describe, expect, test } from "vitest"

import type { JsonSchema } from "../protocol/tool.ts"
import { getToolDefinitions, type ToolSelection } from "./definitions.ts"
import { createToolRegistry } from "./registry.ts"
import type { ToolEntry } from "./tool.ts"

const EMPTY: JsonSchema = { type: "object", properties: {} }
const BRIDGES = ["tool_call", "tool_describe", "tool_search"]

describe("the selection", () => {
  test.each<{ name: string; selection: ToolSelection; expected: readonly string[] }>([
    {
      name: "every toolset",
      selection: { enabled: ["all"] },
      expected: ["read_file", "todo", "weather", "write_file"],
    },
    { name: "two toolsets", selection: { enabled: ["todo", "file"] }, expected: ["read_file", "todo", "write_file"] },
    {
      name: "disabled beats enabled",
      selection: { enabled: ["file", "todo"], disabled: ["file"] },
      expected: ["todo"],
    },
    {
      name: "names of the Python edition",
      selection: { enabled: ["file_tools", "web_tools"], disabled: ["image_tools"] },
      expected: ["read_file", "write_file"],
    },
    { name: "an empty list", selection: { enabled: [] }, expected: [] },
  ])("$name", ({ selection, expected }) => {
    const { select, warnings } = setUp()
    expect(select(selection).map(({ name }) => name)).toEqual(expected)
    expect(warnings).toEqual([])
  })

  test("skips an unknown toolset with a warning", () => {
    const { select, warnings } = setUp()
    expect(select({ enabled: ["nothing", "todo"] }).map(({ name }) => name)).toEqual(["todo"])
    expect(warnings).toEqual(['skipped the unknown toolset "nothing"'])
  })
})

describe("the bridges to deferred tools", () => {
  test.each<{ name: string; selection: ToolSelection; expected: readonly string[] }>([
    { name: "come with every list", selection: { enabled: ["todo"] }, expected: ["todo", ...BRIDGES] },
    { name: "do not come alone", selection: { enabled: ["tool_search"] }, expected: [] },
    { name: "can be disabled", selection: { enabled: ["todo"], disabled: ["tool_search"] }, expected: ["todo"] },
  ])("$name", ({ selection, expected }) => {
    const { registry, select } = setUp()
    for (const name of BRIDGES) registry.register({ ...tool(name, "tool_search"), bridge: "search" })
    expect(select(selection).map(({ name }) => name)).toEqual(expected)
  })
})

test("a definition has a sanitised schema and only the fields that the model needs", () => {
  const { registry, select } = setUp()
  registry.register({ ...tool("todo", "todo"), parameters: { properties: { a: { type: ["string", "null"] } } } })
  expect(select({ enabled: ["todo"] })).toEqual([
    {
      name: "todo",
      description: "static",
      parameters: { type: "object", properties: { a: { type: "string", nullable: true } } },
    },
  ])
})

function setUp() {
  const warnings: string[] = []
  const registry = createToolRegistry({ log: { error: (message) => warnings.push(message) } })
  registry.register(tool("write_file", "file"))
  registry.register(tool("read_file", "file"))
  registry.register(tool("weather", "weather-plugin"))
  registry.register(tool("todo", "todo"))
  const log = { warning: (message: string) => warnings.push(message) }
  return { registry, warnings, select: (selection: ToolSelection) => getToolDefinitions(selection, { registry, log }) }
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
