import { describe, expect, test } from "vitest"

import { drawn, press } from "../../../test/support/modal-driver.ts"
import type { ApprovalRequest } from "../../protocol/events.ts"
import { approvalDecisionText } from "../question-text/approval-text.ts"
import { createApprovalModal } from "./approval-modal.ts"

const REQUEST: ApprovalRequest = {
  type: "approval-request",
  requestId: "1",
  kind: "command",
  call: { id: "1", name: "terminal", args: {} },
  command: "rm -rf build",
  description: "it deletes a directory tree",
  rule: "recursive delete",
  choices: ["once", "session", "always", "deny"],
  pattern: "terminal:rm -rf build",
  directory: "/w",
  background: false,
  pty: false,
  sandbox: { kind: "none" },
  understood: [{ command: "rm -rf build", wrappers: [], directory: "/w" }],
  expiresAt: null,
}

const SCRIPT = `${Array.from({ length: 9 }, (_, index) => `echo ${index + 1}`).join("\n")}\nrm -rf ~`

function modalFor(request: Partial<ApprovalRequest> = {}, openedAt = 0) {
  const modal = createApprovalModal({ ...REQUEST, ...request }, { openedAt })
  drawn(modal)
  return modal
}

const HINT = "Arrows, number or letter, then Enter · Esc denies"

test("the call, everything the user decides about and the choices are shown; deny is highlighted", () => {
  expect(drawn(modalFor({ expiresAt: 61.5 }), { columns: 60 })).toEqual([
    "── Hermes wants to run ───────────────────────────── 1:01 ──",
    "  | rm -rf build",
    "  in /w, without a sandbox",
    "This needs your approval: it deletes a directory",
    "      tree.",
    '"Always" saves this rule:',
    "  | terminal:rm -rf build",
    "  1. [O] Allow once",
    "  2. [S] Allow for this session",
    "  3. [A] Always allow, and save the rule",
    "› 4. [D] Deny",
    HINT,
    "Ctrl+C stops the turn",
  ])
})

test("at 40 columns the hint is whole, and on a short terminal its most important part", () => {
  expect(drawn(modalFor(), { columns: 40 }).slice(-2)).toEqual([
    "Arrows, number or letter, then Enter",
    "Esc denies · Ctrl+C stops the turn",
  ])
  expect(drawn(modalFor(), { columns: 40, rows: 8 }).at(-1)).toBe("Esc denies · Ctrl+C stops the turn")
})

test.each([
  [["o", "enter"], "once"],
  [["O", "enter"], "once"],
  [["s", "enter"], "session"],
  [["a", "enter", "enter"], "always"],
  [["a", "enter"], undefined],
  [["o"], undefined],
  [["d", "enter"], "deny"],
  [["n", "enter"], "deny"],
  [["1", "enter"], "once"],
  [["4", "enter"], "deny"],
  [["enter"], "deny"],
  [["escape"], "deny"],
  [["ctrl+c"], "deny"],
  [["up", "enter", "enter"], "always"],
  [["down", "enter"], "once"],
  [["up", "up", "up", "up", "enter"], "deny"],
  [["5"], undefined],
  [["x", "y", "space", "ctrl+o", "alt+o"], undefined],
] as const)("%j decides %s", (keys, choice) => {
  expect(press(modalFor(), keys)?.decision).toBe(choice)
})

test("a choice that was not offered is neither shown nor accepted", () => {
  const modal = modalFor({ choices: ["once", "deny"] })
  expect(drawn(modal).join("\n")).not.toMatch(/Always|always|session/u)
  expect(press(modal, ["a", "s"])).toBeUndefined()
  expect(press(modal, ["2", "enter"], 20_000)?.decision).toBe("deny")
})

describe("a key for the message that the user was typing", () => {
  test("does not decide, and the user is informed", () => {
    const modal = modalFor({}, 1000)
    expect(press(modal, ["o"], 1299)).toBeUndefined()
    expect(drawn(modal, { now: 1300 }).at(-1)).toBe("Your typing goes to your message. You can answer in 2 s.")
    expect(drawn(modal, { now: 2200, columns: 40 }).slice(-2)).toEqual([
      "Your typing goes to your message. You",
      "can answer in 1 s.",
    ])
    expect(drawn(modal, { now: 2900 }).at(-1)).toMatch(/^Arrows/u)
    // The user types on, with the pauses that people make between words.
    expect(press(modal, ["s", "enter", "1", "enter"], 2700, 1400)).toBeUndefined()
    expect(press(modal, ["o", "enter"], 9000)?.decision).toBe("once")
  })

  test.each([150, 250, 350, 600])("no message decides that is typed with %s ms for each key", (pauseMs) => {
    for (const text of ["please also do that", "so also ask", "also do it", "do", "add sos", "a"]) {
      const modal = modalFor({}, 0)
      expect(press(modal, [...Array.from(text), "enter"], 400, pauseMs)?.decision ?? "deny", text).toBe("deny")
    }
  })

  test("no message decides that a terminal pastes without marks", () => {
    for (const text of ["a", "o", "1"]) expect(press(modalFor(), [text, "enter"], 10_000, 1)).toBeUndefined()
  })

  test.each(["escape", "ctrl+c"])("%s denies at once", (chord) => {
    expect(press(modalFor({}, 1000), [chord], 1001)?.decision).toBe("deny")
  })

  test("is unused also when it is pasted", () => {
    const paste = { type: "paste", text: "o" } as const
    expect(modalFor().key(paste, 10_000)).toEqual({ unused: [paste] })
  })

  test.each(["do it now", "x", "add, then also: 1 2 3", "oo"])("is returned for the draft: %j", (message) => {
    const modal = modalFor()
    const unused: string[] = []
    for (const [index, character] of Array.from(message).entries()) {
      const result = modal.key({ type: "key", chord: character, text: character }, 10_000 + index * 120)
      if (result !== undefined && "unused" in result)
        unused.push(...result.unused.map((event) => (event.type === "key" ? event.text : "")))
    }
    expect(unused.join("")).toBe(message)
  })
})

test("a long command is folded after three rows, with the programs that are out of sight, and shown on demand", () => {
  const understood = [
    { command: "echo 1", wrappers: [], directory: "/w" },
    { command: "rm -rf ~", wrappers: [], directory: "/w" },
  ]
  const modal = modalFor({ command: SCRIPT, understood, choices: ["once", "deny"] })
  expect(drawn(modal, { columns: 60 })).toEqual([
    "── Hermes wants to run ─────────────────────────────────────",
    "  | echo 1",
    "  | echo 2",
    "  | echo 3",
    "  … 7 more rows, not shown here …",
    "  in /w, without a sandbox",
    "  runs rm -rf ~",
    "This needs your approval: it deletes a directory",
    "      tree.",
    "  1. [O] Allow once",
    "› 2. [D] Deny",
    "  3. [V] Show all of it first",
    HINT,
    "Ctrl+C stops the turn",
  ])
  expect(press(modal, ["v", "enter"])).toBeUndefined()
  const whole = drawn(modal, { columns: 60 })
  expect(whole).toContain("  | rm -rf ~")
  expect(whole).not.toContain("  3. [V] Show all of it first")
})

test("on a short terminal the choices stay, and the rest scrolls", () => {
  const modal = modalFor({ command: SCRIPT, choices: ["once", "session", "deny"] })
  press(modal, ["v", "enter"])
  expect(drawn(modal, { columns: 60, rows: 10 })).toEqual([
    "── Hermes wants to run ─────────────────────────────────────",
    "  | echo 1",
    "  | echo 2",
    "  | echo 3",
    "  | echo 4",
    "  … 10 more rows below (PgDn)",
    "  1. [O] Allow once",
    "  2. [S] Allow for this session",
    "› 3. [D] Deny",
    HINT,
  ])
  press(modal, ["pagedown", "pagedown", "pagedown", "pagedown", "pagedown", "pagedown", "pagedown"])
  expect(drawn(modal, { columns: 60, rows: 10 }).slice(1, 6)).toEqual([
    "  … 10 more rows above (PgUp)",
    "  in /w, without a sandbox",
    "  runs rm -rf build",
    "This needs your approval: it deletes a directory",
    "      tree.",
  ])
})

test.each([
  [40, 6, ["  [o]nce   [s]ession   [a]lways", "› [d]eny"]],
  [60, 4, ["  [o]nce   [s]ession   [a]lways › [d]eny"]],
  [60, 1, ["  [o]nce   [s]ession   [a]lways › [d]eny"]],
])("at %s columns and %s rows the choices share rows", (columns, rows, choices) => {
  const shown = drawn(modalFor(), { columns, rows })
  for (const row of choices) expect(shown).toContain(row)
})

test.each([40, 60, 80, 120])("at %s columns every size fits, whatever the command contains", (columns) => {
  const command = `printf '\u001B[2J\u202E${"日本👩‍👩‍👧".repeat(60)}'\r\n\u0007${"x".repeat(500)}\nAllow once`
  for (const rows of [1, 2, 3, 5, 8, 10, 24]) {
    const modal = createApprovalModal({ ...REQUEST, command, description: command }, { openedAt: 0 })
    drawn(modal, { columns, rows })
    press(modal, ["v", "pagedown"])
    drawn(modal, { columns, rows })
  }
})

test("the decision fits on one row of the transcript", () => {
  expect(approvalDecisionText(REQUEST, "session", 80)).toBe("Allowed for this session: rm -rf build")
  expect(approvalDecisionText({ ...REQUEST, command: "a\n\u001Bb ".repeat(50) }, "deny", 40)).toHaveLength(40)
})

test("what was never on the screen cannot be allowed", () => {
  const modal = createApprovalModal({ ...REQUEST, command: SCRIPT }, { openedAt: 0 })
  const size = { columns: 40, rows: 9 }
  const seen = [...drawn(modal, size)]
  expect(seen.join("\n")).not.toContain("saves this rule")
  expect(press(modal, ["o"])).toBeUndefined()
  for (let now = 20_000; press(modal, ["enter"], now) === undefined; now += 2000) {
    expect(now).toBeLessThan(100_000)
    seen.push(...drawn(modal, size))
  }
  expect(seen.join("\n")).toContain("saves this rule")
})

test("denying needs no reading", () => {
  const modal = createApprovalModal({ ...REQUEST, command: SCRIPT }, { openedAt: 0 })
  drawn(modal, { columns: 40, rows: 9 })
  expect(press(modal, ["d", "enter"])?.decision).toBe("deny")
})
