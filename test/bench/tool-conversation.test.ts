import { expect, test } from "vitest"

import { requireCommandsRan } from "./tool-conversation.ts"

const ran = { role: "tool", content: '{"output":"","exit_code":0,"error":null}' }

test("commands that all ran are accepted", () => {
  expect(() => requireCommandsRan({ messages: [{ role: "user", content: "go" }, ran, ran] }, 2)).not.toThrow()
})

test.each<[name: string, messages: object[], problem: string]>([
  ["a tool that could not be loaded", [ran, { role: "tool", content: '{"error":"not there"}' }], "not there"],
  ["a command that failed", [ran, { role: "tool", content: '{"exit_code":1}' }], "did not run"],
  ["a missing result", [ran], "1 commands ran where 2"],
])("%s is no measurement", (_name, messages, problem) => {
  expect(() => requireCommandsRan({ messages }, 2)).toThrow(problem)
})
