import { expect, test } from "vitest"

import { assistant, toolRound, toolRounds, user } from "../../../../test/fixtures/agent/histories.ts"
import { generalDigest } from "../result-digest.ts"
import { fallbackSummary } from "./fallback-summary.ts"

const OPTIONS = {
  previous: undefined,
  reason: "502 from the server",
  digest: generalDigest,
  redact: (text: string) => text.replaceAll("hunter2", "***"),
  maxChars: 8000,
}

test("facts from the messages appear under the usual headings", () => {
  const turns = [
    user("Fix the build. hunter2"),
    ...toolRound([{ id: "a", args: { path: "src/app.ts" }, result: '{"error":null,"output":"ok"}' }]),
    ...toolRound([{ id: "c", args: { path: "~/Documents/n" }, result: '{"error":"no","status":"blocked"}' }]),
    ...toolRound([
      { id: "b", tool: "terminal", args: { command: "make", workdir: "/srv/x" }, result: "Traceback: it broke" },
    ]),
    assistant("See docs/notes.md for more."),
  ]
  const text = fallbackSummary(turns, {
    ...OPTIONS,
    messages: [...turns, user("And the tests.")],
    previous: "## Goal\nEarlier.",
  })
  const section = (heading: string): string => text.split(`## ${heading}\n`)[1]?.split("\n\n## ")[0] ?? "missing"
  expect({
    task: section("Active Task"),
    done: section("Completed Actions"),
    blocked: section("Blocked"),
    files: section("Relevant Files"),
    goal: section("Goal"),
  }).toEqual({
    task: "And the tests.",
    done: "1. [read_file] path=src/app.ts (28 chars result)\n2. [terminal] command=make workdir=/srv/x (19 chars result)",
    blocked: '- {"error":"no","status":"blocked"}\n- Traceback: it broke',
    files: "- src/app.ts\n- ~/Documents/n\n- /srv/x\n- docs/notes.md",
    goal: "None recorded.",
  })
  expect(section("Critical Context")).toContain(
    "8 messages were removed and no model could summarise them (502 from the server)",
  )
  expect(section("Critical Context")).toContain("#### Goal\nEarlier.")
  expect(text).toContain("- user: Fix the build. ***")
  expect(text).not.toContain("hunter2")
})

test("it is bounded in every part and as a whole", () => {
  const turns = [user("x".repeat(9000)), ...toolRounds(40, 3000).map((message) => message)]
  const text = fallbackSummary(turns, { ...OPTIONS, messages: turns })
  expect(text.length).toBeLessThanOrEqual(8000)
  expect(text.match(/^\d+\. \[read_file\]/gmu)).toHaveLength(12)
  expect(fallbackSummary(turns, { ...OPTIONS, messages: turns, maxChars: 500 }).length).toBeLessThanOrEqual(500)
})
