import { expect, test } from "vitest"

import { drawn, press, type } from "../../../test/support/modal-driver.ts"
import { createConfirmModal } from "./confirm-modal.ts"
import { createPlanModal } from "./plan-modal.ts"

const PLAN = { path: "/w/.hermes/plans/x.md", text: `# Goal\n${"- step\n".repeat(20)}` }

const modalFor = (plan = PLAN) => createPlanModal(plan, { openedAt: 0 })

test("the plan with its choices; deciding later is the default", () => {
  expect(drawn(modalFor(), { columns: 60, rows: 12 })).toEqual([
    "── The plan is ready ───────────────────────────────────────",
    "/w/.hermes/plans/x.md",
    "  | # Goal",
    "  | - step",
    "  | - step",
    "  … 18 more rows below (PgDn)",
    "  1. [A] Approve and carry it out",
    "  2. [E] Approve, but ask before each change",
    "  3. [R] Revise: say what should change",
    "  4. [X] Abort; the plan stays on disk",
    "› 5. [L] Decide later; plan mode stays on",
    "PgUp and PgDn scroll · Enter decides · Esc decides later",
  ])
})

test.each([
  [["a", "enter"], { kind: "approve" }],
  [["E", "enter"], { kind: "ask" }],
  [["x", "enter"], { kind: "abort" }],
  [["escape"], { kind: "later" }],
  [["ctrl+c"], { kind: "later" }],
  [["enter"], { kind: "later" }],
  [["down", "enter"], { kind: "approve" }],
  [["r", "enter", "N", "o", "enter"], { kind: "revise", text: "No" }],
  [["3", "enter", "N", "shift+enter", "o", "enter"], { kind: "revise", text: "N\no" }],
  [["r", "enter", "N", "escape", "a", "enter"], { kind: "approve" }],
  [["r", "enter", "enter", "a", "enter"], { kind: "approve" }],
  [["r", "enter", "a", "ctrl+c"], { kind: "later" }],
] as const)("%j decides %j", (keys, decision) => {
  expect(press(modalFor(), keys)?.decision).toEqual(decision)
})

test("typing a message does not approve", () => {
  const modal = createPlanModal(PLAN, { openedAt: 1000 })
  expect(type(modal, "a", 1250)).toBeUndefined()
  expect(press(modal, ["enter"], 1400)).toBeUndefined()
})

test("the plan is rendered once for each width, and characters that rendering hides are listed", () => {
  const widths: number[] = []
  const modal = createPlanModal(
    { ...PLAN, text: "Do\u200B it" },
    {
      openedAt: 0,
      render: (_text, { columns }) => {
        widths.push(columns)
        return ["Do it"]
      },
    },
  )
  for (const columns of [80, 80, 60]) drawn(modal, { columns })
  expect(widths).toEqual([80, 60])
  expect(drawn(modal).join("\n")).toContain(String.raw`! \u{200B}: zero-width space`)
})

test.each([40, 60, 80, 120])("every size fits at %s columns", (columns) => {
  for (const rows of [1, 3, 6, 10, 24]) {
    const modal = modalFor({ path: "/w/\u001B[2J\n", text: `${"日本👩‍👩‍👧 ".repeat(99)}\u0007` })
    drawn(modal, { columns, rows })
    press(modal, ["r", "enter"])
    type(modal, "no ".repeat(200))
    drawn(modal, { columns, rows })
  }
})

test.each([
  [true, ["y", "enter"], "once"],
  [true, ["a", "enter"], "always"],
  [true, ["2", "enter"], "always"],
  [true, ["enter"], "cancel"],
  [true, ["escape"], "cancel"],
  [true, ["up", "up", "enter"], "once"],
  [false, ["a"], undefined],
  [false, ["2", "enter"], "cancel"],
  [false, ["n", "enter"], "cancel"],
] as const)("a confirmation that offers always (%s): %j decides %s", (offersAlways, keys, decision) => {
  const modal = createConfirmModal({ question: "Delete\u001B[2J it?", offersAlways, openedAt: 0 })
  for (const rows of [1, 4, 10]) drawn(modal, { columns: 40, rows })
  expect(press(modal, keys)?.decision).toBe(decision)
})

test("a plan that is the answer above is not shown again, unless it hides something", () => {
  const plan = { path: "/w/plan.md", text: "# Goal\n" }
  const rows = (text: string, answer: string) =>
    drawn(createPlanModal({ ...plan, text }, { openedAt: 0, answer })).join("\n")
  expect(rows("# Goal\n", "# Goal")).toContain("It is above, and in /w/plan.md.")
  expect(rows("# Goal\n", "# Goal")).not.toContain("# Goal")
  expect(rows("# Goal\n", "Another answer")).toContain("# Goal")
  expect(rows("# Go\u200Bal", "# Go\u200Bal")).toContain("Go")
})
