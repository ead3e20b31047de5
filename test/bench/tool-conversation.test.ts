import { expect, test } from "vitest"

import { requireCommandsRan } from "./tool-conversation.ts"

const ran = { role: "tool", content: '{"output":"","exit_code":0,"error":null}' }

test("a conversation in which all commands ran is accepted", () => {
  expect(() => requireCommandsRan({ messages: [{ role: "user", content: "go" }, ran, ran] }, 2)).not.toThrow()
})

test.each<[name: string, messages: object[], problem: string]>([
  ["a tool that could not be loaded", [ran, { role: "tool", content: '{"error":"not found"}' }], "not found"],
  ["a command that failed", [ran, { role: "tool", content: '{"exit_code":1}' }], "did not run"],
  ["a missing result", [ran], "expected 2 commands, 1 ran"],
])("%s is an error", (_name, messages, problem) => {
  expect(() => requireCommandsRan({ messages }, 2)).toThrow(problem)
})
