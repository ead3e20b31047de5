import { expect, test } from "vitest"

import type { SettledCall } from "./facet.ts"
import { callFailure } from "./call-failure.ts"

test.each<[string, Partial<SettledCall>, string | undefined]>([
  ["a tool's error", { outcome: "error", error: "no\n such  file" }, "no such file"],
  ["an error without a message", { outcome: "error", text: "plain" }, "plain"],
  ["a success", { outcome: "ok" }, undefined],
  [
    "a failed command: the telling line",
    { error: "start\nTypeError: x is not a function\n  at main\n" },
    "TypeError: x is not a function",
  ],
  ["a failed command without a recognised error line: the last line", { error: "one\ntwo\n\n" }, "two"],
  [
    "an exit code with a known meaning",
    { error: "exit code 1", text: `{"exit_code":1,"exit_code_meaning":"none"}` },
    undefined,
  ],
  ["denied", { outcome: "denied", error: "no" }, undefined],
  ["blocked", { outcome: "blocked", error: "no" }, undefined],
  ["interrupted", { outcome: "interrupted", error: "no" }, undefined],
  ["skipped", { outcome: "skipped", error: "no" }, undefined],
  ["a long one", { outcome: "error", error: "x".repeat(2000) }, "x".repeat(500)],
])("%s", (_name, more, expected) => {
  expect(callFailure({ tool: "t", args: {}, access: "exec", subjects: [], outcome: "ok", text: "{}", ...more })).toBe(
    expected,
  )
})
