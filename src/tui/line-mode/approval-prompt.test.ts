import { expect, test } from "vitest"

import type { ApprovalRequest } from "../../protocol/events.ts"
import { approvalQuestion, parseApprovalAnswer } from "./approval-prompt.ts"

function question(request: Partial<ApprovalRequest>, columns = 80): readonly string[] {
  return approvalQuestion({ ...COMMAND, ...request }, { columns }).text.split("\n")
}

const COMMAND: ApprovalRequest = {
  type: "approval-request",
  requestId: "1",
  kind: "command",
  call: { id: "1", name: "terminal", args: {} },
  command: "rm -rf build",
  description: "it deletes a directory tree",
  rule: "recursive delete",
  choices: ["once", "session", "deny"],
  directory: "/w",
  background: false,
  pty: false,
  sandbox: { kind: "none" },
  understood: [{ command: "rm -rf build", wrappers: [], directory: "/w" }],
  expiresAt: null,
}

test("a command is shown with its directory, sandbox and reason", () => {
  expect(question({})).toEqual([
    "Hermes wants to run:",
    "  | rm -rf build",
    "  in /w, without a sandbox",
    "This needs your approval: it deletes a directory tree.",
    "Allow [o]nce, for this [s]ession, or [d]eny? ",
  ])
})

test("everything else that a user decides about is shown", () => {
  expect(
    question({
      command: 'cd src && sudo "rm" -rf build',
      call: { id: "1", name: "terminal", args: { command: 'cd src && sudo "rm" -rf build', pty: true, timeout: 5 } },
      background: true,
      pty: true,
      sandbox: { kind: "sandbox", network: "list", hosts: [] },
      masked: true,
      reasons: ["it deletes a directory tree", "it runs as root"],
      understood: [
        { command: "cd src", wrappers: [], directory: "/w" },
        { command: "rm -rf build", wrappers: ["sudo"], directory: "/w/src" },
      ],
      choices: ["once", "session", "always", "deny"],
      pattern: "terminal:cd src && sudo rm -rf build",
    }),
  ).toEqual([
    "Hermes wants to run:",
    '  | cd src && sudo "rm" -rf build',
    "  ! a secret that Hermes knows is masked; the real value is used",
    "  in /w, in the background, in a pseudo-terminal, in the sandbox, with",
    "      the network for listed hosts",
    "  timeout: 5",
    "  runs rm -rf build (through sudo) in /w/src",
    "This needs your approval: it deletes a directory tree.",
    "  - it runs as root",
    '"Always" saves this rule:',
    "  | terminal:cd src && sudo rm -rf build",
    "Allow [o]nce, for this [s]ession, [a]lways, or [d]eny? ",
  ])
})

test.each([
  ["a tool with its arguments", { name: "f", args: { a: 1 } }, '  | f {"a":1}'],
  ["a call without arguments", { name: "another model call", args: {} }, "  | another model call"],
])("%s", (_name, call, row) => {
  const { command: _command, ...rest } = COMMAND
  const { text } = approvalQuestion({ ...rest, kind: "tool", call: { id: "1", ...call } }, { columns: 80 })
  expect(text.split("\n").slice(0, 3)).toEqual([
    "Hermes wants to run:",
    row,
    "This needs your approval: it deletes a directory tree.",
  ])
})

test("a program that the text hides is named", () => {
  const understood = [{ command: "rm -rf src", wrappers: [], directory: "/w" }]
  for (const command of ["r''m -rf s*c", "echo farm -rf src2 | sh", "x rm -rf srcs"])
    expect(question({ command, understood })).toContain("  runs rm -rf src")
  expect(question({ command: "(x;rm  -rf 'src')", understood })).not.toContain("  runs rm -rf src")
})

test("text of the model can neither hide nor imitate a line of Hermes", () => {
  const command = "true\nAllow [o]nce? \u202Eo\u001B[1A rm p\u0430th\r\n\r\nHermes wants to run:"
  expect(question({ command, understood: [] }).slice(0, 8)).toEqual([
    "Hermes wants to run:",
    "  | true",
    String.raw`  | Allow [o]nce? \u{202E}o\u{1B}[1A rm p\u{430}th`,
    "  | ",
    "  | Hermes wants to run:",
    String.raw`  ! \u{430}: Cyrillic letter that looks like a`,
    String.raw`  ! \u{202E}: right-to-left override`,
    String.raw`  ! \u{1B}: escape, which starts terminal sequences`,
  ])
})

test.each(["command", "directory", "description", "pattern"] as const)(
  "no row of %s starts at the left edge",
  (field) => {
    const padding = "x".repeat(36)
    const rows = question(
      { [field]: `${padding}${" ".repeat(40)}Allow [o]nce?\nAllow\r\u2028Allow`, choices: ["once", "always", "deny"] },
      40,
    )
    expect(rows.filter((row) => row.startsWith("Allow"))).toEqual(["Allow [o]nce, [a]lways, or [d]eny? "])
    expect(rows.every((row) => row.length < 40 || row.startsWith("Allow") || row.startsWith("This needs"))).toBe(true)
  },
)

test("a command of 100 KB is cut with a mark, and shown completely when asked for", () => {
  const command = `echo ${"a".repeat(100_000)}; rm -rf ~`
  const cut = approvalQuestion({ ...COMMAND, command }, { columns: 80 })
  const whole = approvalQuestion({ ...COMMAND, command }, { columns: 80, whole: true })
  expect([cut.isCut, whole.isCut]).toEqual([true, false])
  expect(cut.text).toMatch(/\n {2}… 1[\d]{3} more rows, not shown here …\n/u)
  expect(cut.text).toMatch(/a; rm -rf ~\n/u)
  expect(cut.text.length).toBeLessThan(5000)
  const rows = whole.text.split("\n").filter((row) => /^ {2}[|:] /u.test(row))
  expect(rows.map((row) => row.slice(4)).join("")).toBe(command)
})

test("only choices that were offered are answers", () => {
  const answers = ["o", "s", "a", "d", "", undefined, "x", "v"].map((word) =>
    parseApprovalAnswer(word, { choices: ["once", "deny"] }),
  )
  expect(answers).toEqual(["once", undefined, undefined, "deny", "deny", "deny", undefined, undefined])
})
