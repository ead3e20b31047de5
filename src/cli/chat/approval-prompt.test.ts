import { expect, test } from "vitest"

import type { ApprovalRequest } from "../../protocol/events.ts"
import { approvalQuestion } from "./approval-prompt.ts"

test.each<[string, Pick<ApprovalRequest, "call" | "command">, string]>([
  ["a command", { call: { id: "1", name: "terminal", args: { command: "x" } }, command: "rm x" }, "  rm x\n"],
  ["a tool with its arguments", { call: { id: "1", name: "f", args: { a: 1 } } }, '  f {"a":1}\n'],
  ["a call without arguments", { call: { id: "1", name: "another model call", args: {} } }, "  another model call\n"],
])("the question shows %s", (_name, request, line) => {
  const asked = { ...request, description: "it costs" } as ApprovalRequest
  expect(approvalQuestion(asked)).toBe(
    `Hermes wants to run:\n${line}This needs your approval: it costs.\nAllow [o]nce, for this [s]ession, or [d]eny? `,
  )
})
