import { expect, test } from "vitest"

import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import type { SlashContext, SlashOutcome } from "./slash-command.ts"
import { runSlashCommand } from "./slash-table.ts"

type Approval = Result<string, "none" | "changed">

/** A session that records what it is asked to do. `plan` is the plan that waits for a decision. */
function conversation({ plan, approval = ok("go") }: { plan?: string; approval?: Approval } = {}) {
  const calls: string[] = []
  const session = {
    setPermissionProfile: (name: string) => calls.push(`profile ${name}`),
    plan: {
      show: () => Promise.resolve(plan === undefined ? undefined : { path: "/w/plan.md", text: plan }),
      approve: (how: string) => {
        calls.push(`approve ${how}`)
        return Promise.resolve(approval)
      },
      abort: () => {
        calls.push("abort")
        return Promise.resolve("default")
      },
    },
  }
  const context = { session, running: false } as unknown as SlashContext
  return { calls, run: (line: string): Promise<SlashOutcome> => runSlashCommand(line, context) }
}

function says(text: string | RegExp): SlashOutcome {
  return { kind: "reply", text: expect.stringMatching(text) as string }
}

test.each([
  { line: "/plan", calls: ["profile plan"], outcome: says(/^Plan mode is on/u) },
  {
    line: "/plan tidy  up\nnow",
    calls: ["profile plan"],
    outcome: { kind: "send", text: "tidy  up\nnow", typed: true },
  },
  { line: "/plan approve", calls: ["approve approve"], outcome: { kind: "send", text: "go" } },
  { line: "/plan ask", calls: ["approve ask"], outcome: { kind: "send", text: "go" } },
  {
    line: "/plan approve the budget",
    calls: ["profile plan"],
    outcome: { kind: "send", text: "approve the budget", typed: true },
  },
  {
    line: "/plan revise use b\n\nnot c",
    calls: ["profile plan"],
    outcome: { kind: "send", text: "use b\n\nnot c", typed: true },
  },
  { line: "/plan revise", calls: [], outcome: says(/^Say what should change/u) },
  { line: "/plan abort", calls: ["abort"], outcome: says(/The permission profile is default\.$/u) },
])("$line", async ({ line, calls, outcome }) => {
  const chat = conversation()
  expect(await chat.run(line)).toEqual(outcome)
  expect(chat.calls).toEqual(calls)
})

test("/plan shows the plan that waits, with hidden characters made visible", async () => {
  const { run } = conversation({ plan: "# Goal\u202E\n" })
  expect(await run("/plan")).toEqual(says(/^# Goal\\u\{202E\}\n\nPlan: \/w\/plan\.md\n\/plan approve/u))
})

test.each([
  ["none", undefined, /^There is no plan to approve/u],
  ["changed", "# New", /^The plan has changed since you saw it:\n\n# New\n/u],
  ["changed", undefined, /^The plan file is gone/u],
] as const)("an approval that is not possible (%s, %s) says why", async (error, plan, message) => {
  const { run } = conversation({ approval: fail(error), ...(plan === undefined ? {} : { plan }) })
  expect(await run("/plan approve")).toEqual(says(message))
})
