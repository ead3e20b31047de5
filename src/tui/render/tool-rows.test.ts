import { describe, expect, test } from "vitest"

import { colorTheme, plainTheme, readable } from "../../../test/fixtures/tui/themes.ts"
import type { ToolEnd, ToolStart } from "../../protocol/events.ts"
import { textColumns } from "../../terminal/text-width.ts"
import { createToolFilter } from "./tool-filter.ts"
import { endedToolRows, runningToolRows } from "./tool-rows.ts"

const START: ToolStart = {
  type: "tool-start",
  call: { id: "c", name: "terminal", args: { command: "npm test" } },
  preview: "npm test",
  label: { emoji: "💻", verb: "$" },
  access: "exec",
  subjects: [],
}
const END: ToolEnd = {
  type: "tool-end",
  call: START.call,
  outcome: "ok",
  durationMs: 3210,
  summary: "exit code 0",
  truncated: false,
}
const PLAIN = { theme: plainTheme, columns: 60 }
const row = (start: Partial<ToolStart>, end: Partial<ToolEnd> = {}): string | undefined =>
  endedToolRows({ start: { ...START, ...start }, end: { ...END, ...end } }, PLAIN)[0]

describe("a call that has ended", () => {
  test.each([
    [{}, {}, "┊ 💻 $         npm test  3.2s"],
    [
      { label: { emoji: "📖", verb: "read" }, preview: "src/a.ts" },
      { durationMs: 90 },
      "┊ 📖 read      src/a.ts  0.1s",
    ],
    [
      { label: { emoji: "📋", verb: "plan", showsResult: true }, preview: "write 5" },
      { summary: "2 of 5 done", durationMs: 0 },
      "┊ 📋 plan      2 of 5 done  0.0s",
    ],
    [{}, { exitCode: 2 }, "┊ 💻 $         npm test  3.2s [exit 2]"],
    [{}, { outcome: "denied" }, "┊ 💻 $         npm test  3.2s [denied]"],
    [{ preview: "add x" }, { outcome: "error", failureWord: "full" }, "┊ 💻 $         add x  3.2s [full]"],
    [
      { preview: "a" },
      { outcome: "error", summary: "cannot read /home/somebody/projects/long/path/file.txt: no such file" },
      "┊ 💻 $         a  3.2s [cannot read file.txt: no such file]",
    ],
    [{ preview: "" }, { outcome: "error", summary: "x".repeat(100) }, `┊ 💻 $           3.2s [${"x".repeat(36)}…`],
  ] satisfies readonly (readonly [Partial<ToolStart>, Partial<ToolEnd>, string])[])("%#", (start, end, expected) => {
    expect(row(start, end)).toBe(expected)
  })

  test("two names never look the same, and the lines of a command are joined", () => {
    const path = (preview: string) => row({ preview, subjects: [{ kind: "path", path: preview }] })
    expect(path("a\u001B[31mb.txt")).toBe(String.raw`┊ 💻 $         a\u{1B}[31mb.txt  3.2s`)
    const names = ["a b", "a  b", "a\nb", "a\tb", "a\u00A0b", "a\u200Bb", "a\bb", " a b", "a b "]
    expect(new Set(names.map(path)).size).toBe(names.length)
    expect(row({ preview: "echo a\n  echo \u0007b" })).toBe(String.raw`┊ 💻 $         echo a echo \u{7}b  3.2s`)
  })

  test("a tool without a label shows its name, the skin may choose another emoji, an inner call is indented", () => {
    const { label: _label, ...unlabelled } = START
    const call = { ...START.call, name: "mcp_x_search", parentId: "outer" }
    expect(endedToolRows({ start: { ...unlabelled, call }, end: END }, PLAIN)).toEqual([
      "┊   ⚡ mcp_x_search npm test  3.2s",
    ])
    const theme = { ...plainTheme, toolPrefix: "|", toolEmojis: { terminal: "*" } }
    expect(endedToolRows({ start: START, end: END }, { theme, columns: 60 })).toEqual(["| *  $         npm test  3.2s"])
  })

  test("of a line that was overwritten, the last version is shown", () => {
    const outputTail = "10%\r50%\r100%\r\ndone\r\n"
    const rows = endedToolRows({ start: START, end: { ...END, exitCode: 1, outputTail } }, PLAIN)
    expect(rows.slice(1)).toEqual(["┊   100%", "┊   done"])
  })

  test("the failure is red, and the end of the output follows", () => {
    const outputTail = Array.from({ length: 12 }, (_, index) => `line ${index}\u{1B}[2J`).join("\n")
    const rows = endedToolRows(
      { start: START, end: { ...END, exitCode: 1, outputTail } },
      { theme: colorTheme, columns: 60 },
    )
    expect(readable(rows[0] ?? "")).toBe(
      "<dim>┊ </>💻 <ui_label>$         </>npm test<dim>  3.2s</><ui_error> [exit 1]</>",
    )
    expect([rows.length, readable(rows.at(-1) ?? "")]).toEqual([11, "<dim>┊   line 11</>"])
  })

  test("verbose shows arguments and result", () => {
    const call = { ...START.call, args: { command: "npm test", nested: { a: 1 }, text: "x ".repeat(200) } }
    expect(endedToolRows({ start: { ...START, call }, end: END }, { ...PLAIN, columns: 40, verbose: true }))
      .toMatchInlineSnapshot(`
      [
        "┊ 💻 $         npm test  3.2s",
        "┊   command: npm test",
        "┊   nested: {"a":1}",
        "┊   text: x x x x x x x x x x x x x x x",
        "┊   x x x x x x x x x x x x x x x x x x",
        "┊   x x x x x x x x x x x x x x x x x x",
        "┊   … 9 more rows",
        "┊   → exit code 0",
      ]
    `)
  })

  test("a diff follows unless it is switched off", () => {
    const end = { ...END, diff: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" }
    expect(endedToolRows({ start: START, end }, PLAIN)).toHaveLength(4)
    expect(endedToolRows({ start: START, end }, { ...PLAIN, diffs: false })).toHaveLength(1)
  })
})

describe("calls that run", () => {
  test("have a spinner and the time; one alone shows its output", () => {
    const running = { start: START, startedAt: 1000, output: "a\nb\n\nc\nd\n" }
    expect(runningToolRows([running], { ...PLAIN, now: 2300 })).toEqual([
      "┊ ⠙ 💻 $         npm test  1.3s",
      "┊   b",
      "┊   c",
      "┊   d",
    ])
    expect(runningToolRows([running, running], { ...PLAIN, now: 1000 })).toHaveLength(2)
    const many = runningToolRows(
      Array.from({ length: 9 }, () => running),
      { ...PLAIN, now: 1000 },
    )
    expect([many.length, many.at(-1)]).toEqual([7, "┊ … 3 more calls"])
  })
})

test.each([20, 40, 60, 80, 120])("no row is wider than %i columns", (columns) => {
  const start = { ...START, preview: "日本語 ".repeat(50) }
  const end: ToolEnd = { ...END, outcome: "error", summary: "e".repeat(300), outputTail: "o".repeat(500) }
  const rows = [
    ...endedToolRows({ start, end }, { theme: plainTheme, columns, verbose: true }),
    ...endedToolRows({ start, end }, { theme: plainTheme, columns }),
    ...runningToolRows([{ start, startedAt: 0, output: "x".repeat(500) }], { theme: plainTheme, columns, now: 1e6 }),
  ]
  for (const shown of rows) expect(textColumns(shown)).toBeLessThanOrEqual(columns)
})

test("which calls are shown", () => {
  const envelope = { sessionId: "s", runId: "r", seq: 0, ts: 0 }
  const shown = (mode: "off" | "new" | "all"): readonly boolean[] => {
    const filter = createToolFilter(mode)
    return ["read", "read", "write"].map((name, index) =>
      filter({ ...envelope, ...START, call: { ...START.call, id: String(index), name } } as never),
    )
  }
  expect([shown("off"), shown("new"), shown("all")]).toEqual([
    [false, false, false],
    [true, false, true],
    [true, true, true],
  ])
})
