import { expect, test } from "vitest"

import type { ToolEntry } from "./tool.ts"
import { TOOLSETS } from "./toolset-table.ts"
import { resolveToolset } from "./toolsets.ts"

const BUILTIN = toolsOf([
  ["checkpoint", "checkpoint"],
  ["clarify", "clarify"],
  ["memory", "memory"],
  ["process", "terminal"],
  ["read_file", "file"],
  ["terminal", "terminal"],
  ["todo", "todo"],
  ["tool_search", "tool_search"],
])

test.each([
  ["file", ["read_file"]],
  ["terminal", ["process", "terminal"]],
  ["debugging", ["process", "read_file", "terminal"]],
  ["coding", ["process", "read_file", "terminal", "todo"]],
  ["safe", []],
  ["hermes-cli", ["checkpoint", "clarify", "memory", "process", "read_file", "terminal", "todo"]],
  ["hermes-acp", ["checkpoint", "memory", "process", "read_file", "terminal", "todo"]],
  ["hermes-webhook", ["clarify"]],
])("%s has the tools %j", (name, tools) => {
  expect(resolveToolset(name, BUILTIN)).toEqual(tools)
})

test.each(["web", "moa", "browser", "hermes-discord", "kanban"])(
  "the toolset %s, which an existing home may name, is known although it has no tools",
  (name) => {
    expect(resolveToolset(name, toolsOf([]))).toEqual([])
  },
)

test("every included toolset exists", () => {
  const includes = Object.values(TOOLSETS).flat()
  expect(includes.filter((name) => !Object.hasOwn(TOOLSETS, name))).toEqual([])
})

test("a registered tool belongs to the toolset it names, even to one that is not in the table", () => {
  const tools = toolsOf([
    ["spotify_play", "spotify"],
    ["weather", "weather-plugin"],
  ])
  expect(resolveToolset("spotify", tools)).toEqual(["spotify_play"])
  expect(resolveToolset("weather-plugin", tools)).toEqual(["weather"])
})

test.each(["all", "*"])("%s means every registered tool", (name) => {
  const tools = toolsOf([
    ["b", "x"],
    ["a", "y"],
  ])
  expect(resolveToolset(name, tools)).toEqual(["a", "b"])
})

test.each(["nothing", "", "toString", "hermes-"])("there is no toolset %j", (name) => {
  expect(resolveToolset(name, BUILTIN)).toBeUndefined()
})

function toolsOf(tools: readonly (readonly [name: string, toolset: string])[]): Parameters<typeof resolveToolset>[1] {
  const entries = tools.map(([name, toolset]): [string, ToolEntry] => [
    name,
    {
      name,
      toolset,
      description: "",
      parameters: {},
      source: { kind: "builtin" },
      load: () => Promise.reject(new Error("never loaded here")),
    },
  ])
  return { snapshot: { tools: new Map(entries) } }
}
