import { expect, test } from "vitest"
import { createDispatchHarness, toolCall } from "../../../test/fixtures/agent/dispatch-harness.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import { prepareCall } from "./prepare.ts"
import { readArguments } from "../../toolkit/read-arguments.ts"

const object = (args: Readonly<Record<string, unknown>>) => ({ kind: "object", args })

test.each<readonly [string, ReturnType<typeof object> | { kind: "truncated" | "invalid" }]>([
  ['{"a":1}', object({ a: 1 })],
  ["", object({})],
  ["  ", object({})],
  ["None", object({})],
  ["null", object({})],
  ["{}", object({})],
  [" { } ", object({})],
  ["{}}", object({})],
  ['{"a": 1,}', object({ a: 1 })],
  ['{"a":[1,2,],}', object({ a: [1, 2] })],
  ['{"a":{"b":1}', object({ a: { b: 1 } })],
  ['{"a":1}}}]', object({ a: 1 })],
  ['{"a":"x\ty"}', object({ a: "x\ty" })],
  ['{"a":[1,2}', { kind: "invalid" }],
  ['{"a":1 "b":2}', { kind: "invalid" }],
  ["[1,2]", { kind: "invalid" }],
  ["[1]", { kind: "invalid" }],
  ['{"a":"unterminated', { kind: "truncated" }],
  ['{"a":tru', { kind: "truncated" }],
  ["please read a", { kind: "truncated" }],
  ["7", { kind: "truncated" }],
])("arguments %j", (raw, expected) => {
  expect(readArguments(raw)).toEqual(expected)
})

test.each([
  ["file_read_all", "Unknown tool: file_read_all. Close matches: read_file, write_file"],
  ["TerminalSession", "Unknown tool: TerminalSession. Close matches: terminal"],
  ["", "Unknown tool: . Available tools: read_file, terminal, write_file"],
  ["launch_rocket", "Unknown tool: launch_rocket. Available tools: read_file, terminal, write_file"],
  ["x".repeat(1000), `Unknown tool: ${"x".repeat(97)}.... Available tools: read_file, terminal, write_file`],
])("an unknown tool is answered with close matches: %s", async (name, error) => {
  const run = () => Promise.resolve({ content: {}, summary: "" })
  await using harness = await createDispatchHarness(
    ["write_file", "terminal", "read_file"].map((tool) => ({ name: tool, run })),
  )
  expect(await prepareCall(toolCall("a", name), harness.session)).toMatchObject({ why: "unknown-tool", error })
})

test("a tool whose code cannot be loaded is refused with the reason", async () => {
  const entry: ToolEntry = {
    name: "broken",
    toolset: "test",
    description: "",
    parameters: {},
    source: { kind: "builtin" },
    load: () => Promise.reject(new Error("no such file")),
  }
  const tools = new Map([["broken", entry]])
  expect(await prepareCall(toolCall("a", "broken"), { tools, redact: (text) => text })).toMatchObject({
    kind: "refused",
    why: "not-loaded",
    error: "broken could not be loaded: no such file",
  })
})
