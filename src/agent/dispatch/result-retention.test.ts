import { expect, test } from "vitest"

import { hasSpilled } from "./result-retention.ts"

test.each([
  ["All of it is in /home/a/.hermes/cache/hermes-results/0a/result-1.txt", true],
  ["nothing of the kind", false],
])("%s: %s", (content, expected) => {
  expect(hasSpilled([{ role: "tool", content, tool_call_id: "c", tool_name: "t" }])).toBe(expected)
})
