import { expect, test } from "vitest"

import { sanitiseErrorText, toolFailureText } from "./error-text.ts"

test.each([
  ["", "[TOOL_ERROR] "],
  ["plain", "[TOOL_ERROR] plain"],
  ["<tool_call>a</tool_call>", "[TOOL_ERROR] a"],
  ['a <System role="x">b</SYSTEM> c', "[TOOL_ERROR] a b c"],
  ["<sys<system>tem>a", "[TOOL_ERROR] a"],
  ["<systematic> stays", "[TOOL_ERROR] <systematic> stays"],
  ["```json\na\n```", "[TOOL_ERROR] a"],
  ["a ``` b", "[TOOL_ERROR] a ``` b"],
  ["<![CDATA[a]]>", "[TOOL_ERROR] a"],
])("%j becomes %j", (given, wanted) => {
  expect(sanitiseErrorText(given)).toBe(wanted)
})

test("3000 characters become 2000 after the prefix", () => {
  const text = sanitiseErrorText("x".repeat(3000))
  expect(text).toBe(`[TOOL_ERROR] ${"x".repeat(1997)}...`)
  expect(text).toHaveLength(2013)
})

test("a thrown error is named by type and message", () => {
  expect(toolFailureText(new TypeError("no <user>good</user>"))).toBe(
    "[TOOL_ERROR] Tool execution failed: TypeError: no good",
  )
  expect(toolFailureText("text")).toBe("[TOOL_ERROR] Tool execution failed: string: text")
})
