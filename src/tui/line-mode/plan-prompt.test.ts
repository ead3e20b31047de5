import { expect, test } from "vitest"

import { askAboutPlan } from "./plan-prompt.ts"

const PLAN = "# Goal\nRename a.\n"

/** Asks about a plan and answers with these lines. */
async function decide(lines: readonly (string | undefined)[], changes: { text?: string; answer?: string } = {}) {
  const remaining = [...lines]
  const asked: string[] = []
  const calls: string[] = []
  const { text = PLAN, answer = "" } = changes
  const outcome = await askAboutPlan(
    {
      plan: {
        show: () => Promise.resolve(undefined),
        approve: (how) => {
          calls.push(how)
          return Promise.resolve({ ok: true, value: "go" })
        },
        abort: () => {
          calls.push("abort")
          return Promise.resolve("default" as const)
        },
      },
    },
    {
      plan: { path: "/w/plan.md", text },
      answer,
      ask: (question) => {
        asked.push(question)
        return Promise.resolve(remaining.shift())
      },
      columns: () => 80,
      signal: new AbortController().signal,
    },
  )
  return { outcome, asked, calls }
}

const LATER = expect.objectContaining({ kind: "reply", text: expect.stringContaining("Plan mode stays on") })

test.each([
  { lines: ["a"], calls: ["approve"], outcome: { kind: "send", text: "go" } },
  { lines: [" E "], calls: ["ask"], outcome: { kind: "send", text: "go" } },
  { lines: ["x"], calls: ["abort"], outcome: expect.objectContaining({ kind: "reply" }) },
  { lines: ["r", "use b"], calls: [], outcome: { kind: "send", text: "use b", typed: true } },
  { lines: ["r", ""], calls: [], outcome: LATER },
  { lines: ["r", undefined], calls: [], outcome: LATER },
  { lines: [""], calls: [], outcome: LATER },
  { lines: [undefined], calls: [], outcome: LATER },
  { lines: ["sure"], calls: [], outcome: LATER },
  { lines: ["v"], calls: [], outcome: LATER },
])("$lines", async ({ lines, calls, outcome }) => {
  const decided = await decide(lines)
  expect([decided.calls, decided.outcome]).toEqual([calls, outcome])
})

test("a plan that differs from the answer is shown before it is approved", async () => {
  const { asked } = await decide(["x"], { answer: "Here is the plan.", text: "# Goal\u202E\nThe plan is ready.\n" })
  expect(asked[0]?.split("\n").slice(0, 6)).toEqual([
    "",
    "The plan in /w/plan.md:",
    String.raw`  | # Goal\u{202E}`,
    "  | The plan is ready.",
    String.raw`  ! \u{202E}: right-to-left override`,
    "",
  ])
})

test("a plan that is the answer is not shown twice", async () => {
  const { asked } = await decide(["x"], { answer: PLAN.trim() })
  expect(asked[0]).toMatch(/^\nThe plan is ready\. /u)
})

test("v shows the whole of a long plan", async () => {
  const text = Array.from({ length: 100 }, (_, index) => `${index}. step`).join("\n")
  const { asked, calls } = await decide(["v", "a"], { text })
  expect(asked[0]).toContain("  … 60 more rows, not shown here …")
  expect(asked[1]).toContain("  | 50. step\n")
  expect([asked[1]?.includes("[v]iew"), calls]).toEqual([false, ["approve"]])
})
