import { expect, test } from "vitest"

import { parseYaml } from "./yaml-document.ts"

function problemsOf(text: string): readonly unknown[] {
  const parsed = parseYaml(text)
  if (!parsed.ok) throw new Error(parsed.error.message)
  return parsed.value.problems
}

test("a key that is set twice is reported with its lines", () => {
  expect(problemsOf("agent:\n  max_turns: 3\n  max_turns: 4\nmodel: a\n\nagent: {}\n")).toEqual([
    {
      severity: "warning",
      path: "agent",
      message: "`agent` is set more than once (lines 1, 6)",
      fix: "the last value is used, remove the others",
    },
    {
      severity: "warning",
      path: "agent.max_turns",
      message: "`agent.max_turns` is set more than once (lines 2, 3)",
      fix: "the last value is used, remove the others",
    },
  ])
})

test.each([
  ["a setting that restricts the agent", "approvals:\n  profile: plan\n  profile: full-auto\n", "approvals.profile"],
  ["a section in which one copy restricts it", "terminal:\n  sandbox: required\nterminal:\n  timeout: 5\n", "terminal"],
  ["the cost limit", "model:\n  default: a\nmodel:\n  max_session_cost_usd: 2\n", "model"],
  ["a list inside a restriction", "terminal:\n  sandbox_write: [a]\n  sandbox_write: [b]\n", "terminal.sandbox_write"],
])("%s stops the start", (_what, text, path) => {
  expect(problemsOf(text)).toEqual([expect.objectContaining({ path, severity: "error", blocksStart: true })])
})

test("a section without restrictions does not", () => {
  expect(problemsOf("terminal:\n  timeout: 5\nterminal:\n  timeout: 6\n")).toEqual([
    expect.not.objectContaining({ blocksStart: true }),
  ])
})

test("merge keys and keys in different mappings are no duplicates", () => {
  expect(problemsOf("a: &a { x: 1 }\nb: &b { y: 1 }\nc: { <<: *a, <<: *b }\nd: [{ x: 1 }, { x: 2 }]\n")).toEqual([])
})
