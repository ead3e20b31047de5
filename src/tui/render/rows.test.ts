import { describe, expect, test } from "vitest"

import { colorTheme, plainTheme, plainRow, readable } from "../../../test/fixtures/tui/themes.ts"
import { textColumns } from "../../terminal/text-width.ts"
import { bannerRows } from "./banner.ts"
import { exitSummaryRows } from "./exit-summary.ts"
import { noteRows } from "./note-rows.ts"
import { panelRows } from "./panel-rows.ts"
import { processRows, processSummaryRow } from "./process-rows.ts"
import { queueRows } from "./queue-rows.ts"
import { reasoningRows, reasoningTail } from "./reasoning-rows.ts"
import { recapRows } from "./recap-rows.ts"
import type { RowOptions } from "./row-options.ts"
import { waitingRow } from "./spinner.ts"
import { subagentTreeRows } from "./subagent-rows.ts"
import { todoRows } from "./todo-rows.ts"
import { userMessageRows } from "./user-message-rows.ts"

const PLAIN: RowOptions = { theme: plainTheme, columns: 40 }

describe("todo list", () => {
  const item = (id: string, status: "pending" | "in_progress" | "completed" | "cancelled") => ({
    id,
    content: `task ${id}`,
    status,
  })
  test("has marks that need no colours", () => {
    const items = [item("1", "completed"), item("2", "in_progress"), item("3", "pending"), item("4", "cancelled")]
    expect(todoRows(items, PLAIN)).toEqual([
      "📋 1/4 done",
      "  [x] task 1",
      "  [>] task 2",
      "  [ ] task 3",
      "  [-] task 4",
    ])
    expect(todoRows([], PLAIN)).toEqual([])
  })
  test("a long list shows the part around the current task", () => {
    const items = Array.from({ length: 20 }, (_, index) => item(String(index), index < 10 ? "completed" : "pending"))
    expect(todoRows(items, { ...PLAIN, maxItems: 3 })).toEqual([
      "📋 10/20 done, 9 tasks above",
      "  [x] task 9",
      "  [ ] task 10",
      "  [ ] task 11",
      "  … 8 more tasks",
    ])
  })
})

test("reasoning is folded, open, or its end", () => {
  const text = "First I look.\n\nThen I think about the problem for a while, at length."
  expect(reasoningRows(text, { ...PLAIN, folded: true })).toEqual(["▸ Reasoning, 14 words"])
  expect(reasoningRows(text, PLAIN)).toEqual([
    "┆ First I look.",
    "┆",
    "┆ Then I think about the problem for a",
    "┆ while, at length.",
  ])
  expect(reasoningTail(text, { ...PLAIN, maxRows: 1 })).toEqual(["┆ while, at length."])
  expect(reasoningRows(" \n", { ...PLAIN, folded: true })).toEqual([])
})

test("queued messages", () => {
  expect(queueRows(["one", "two\nlines", "x".repeat(50), "four", "five"], PLAIN)).toEqual([
    "⏎ queued: one",
    "⏎ queued: two lines",
    `⏎ queued: ${"x".repeat(29)}…`,
    "  … 2 more messages",
  ])
  expect(queueRows([], PLAIN)).toEqual([])
})

test("a message of the user", () => {
  expect(userMessageRows("Please fix the bug in the parser of dates\n\tnow", PLAIN)).toEqual([
    "❯ Please fix the bug in the parser of",
    "  dates",
    "  now",
  ])
  const long = userMessageRows("line\n".repeat(100), PLAIN)
  expect([long.length, long.at(-1)]).toEqual([61, "  … 40 more rows"])
})

test("notes", () => {
  expect(
    noteRows("Retrying in 2 s: the server is overloaded and answered 529.", { ...PLAIN, kind: "warning" }),
  ).toEqual(["⚠ Retrying in 2 s: the server is", "  overloaded and answered 529."])
  expect(noteRows("a\n  b", { ...PLAIN, kind: "note" })).toEqual(["· a", "    b"])
  expect(noteRows("no", { theme: colorTheme, columns: 40, kind: "error" }).map(readable)).toEqual([
    "<ui_error>✗</> <ui_error>no</>",
  ])
})

test("the result of a background task", () => {
  expect(panelRows({ title: "Background task 1", text: "**Done**\n- a" }, PLAIN)).toEqual([
    `── Background task 1 ${"─".repeat(19)}`,
    "**Done**",
    "• a",
    "─".repeat(40),
  ])
})

test("background processes", () => {
  const process = { id: "proc_1", command: "npm run dev", uptimeMs: 90_000, isDetached: false }
  expect(
    processRows(
      [
        { ...process, id: "proc_2", state: { status: "exited", exitCode: 1, reason: "exited" } },
        { ...process, id: "proc_3", state: { status: "exited", exitCode: undefined, reason: "killed" } },
        { ...process, state: { status: "running" } },
      ],
      { ...PLAIN, columns: 60, maxRows: 2 },
    ),
  ).toEqual(["⚙ proc_1  npm run dev  running 2m", "⚙ proc_2  npm run dev  exit 1 after 2m", "  … 1 more"])
  const running = { ...process, state: { status: "running" } } as const
  expect(processSummaryRow([running, { ...running, command: "sleep\n100" }], { ...PLAIN, columns: 60 })).toBe(
    "⚙ 2 running: npm run dev · sleep 100",
  )
})

test("the exit summary has the command that resumes", () => {
  const facts = {
    sessionId: "20261116_033900_abc123",
    title: "Fix the parser",
    profile: "default",
    seconds: 3700,
    messages: { user: 2, total: 9, toolCalls: 1 },
  }
  expect(exitSummaryRows(facts, { ...PLAIN, columns: 60 })).toEqual([
    "Resume:    hermes --resume 20261116_033900_abc123",
    "Session:   20261116_033900_abc123",
    "Title:     Fix the parser",
    "Duration:  1h 2m",
    "Messages:  9 (2 from you, 1 tool call)",
  ])
  const [first] = exitSummaryRows({ ...facts, title: null, profile: "my work" }, { ...PLAIN, columns: 80 })
  expect(first).toBe("Resume:    hermes -p 'my work' --resume 20261116_033900_abc123")
})

describe("hostile text", () => {
  const HOSTILE = `\u{1B}[2J\u{1B}]0;x\u{7}\u{9B}31m日本語 👩‍👩‍👧 \u{202E}abc\r\nnew\tline ${"w".repeat(300)} ${"é".repeat(50)}`
  const draw = (options: RowOptions): readonly string[] => [
    ...todoRows([{ id: HOSTILE, content: HOSTILE, status: "pending" }], options),
    ...reasoningRows(HOSTILE, options),
    ...reasoningTail(HOSTILE, options),
    ...queueRows([HOSTILE], options),
    ...userMessageRows(HOSTILE, options),
    ...noteRows(HOSTILE, { ...options, kind: "error" }),
    ...panelRows({ title: HOSTILE, text: HOSTILE }, options),
    ...processRows(
      [{ id: "p", command: HOSTILE, uptimeMs: 1, isDetached: true, state: { status: "running" } }],
      options,
    ),
    ...exitSummaryRows(
      { sessionId: "s", title: HOSTILE, profile: "default", seconds: 1, messages: { user: 1, total: 1, toolCalls: 0 } },
      options,
    ),
    ...bannerRows(
      {
        version: "1",
        model: HOSTILE,
        provider: HOSTILE,
        directory: HOSTILE,
        branch: HOSTILE,
        backend: HOSTILE,
        permissionProfile: HOSTILE,
        profile: HOSTILE,
        updateHint: HOSTILE,
      },
      options,
    ),
    ...recapRows(
      [
        { role: "user", content: HOSTILE },
        { role: "assistant", content: HOSTILE },
      ],
      options,
    ),
    ...subagentTreeRows(
      [
        {
          id: "s",
          goal: HOSTILE,
          status: "running",
          startedAt: 0,
          toolCount: 0,
          lastTool: HOSTILE,
          tokens: { input: 0, output: 0 },
          children: [],
        },
      ],
      { ...options, now: 0 },
    ),
    waitingRow({ ...options, elapsedMs: 0, activity: HOSTILE }),
  ]

  test.each([40, 60, 80, 120])("changes nothing outside its rows at %i columns", (columns) => {
    for (const theme of [plainTheme, colorTheme]) {
      for (const row of draw({ theme, columns }).map(plainRow)) {
        expect(textColumns(row)).toBeLessThanOrEqual(columns)
        expect(row).not.toMatch(/[\p{Cc}\u{202A}-\u{202E}]/u)
      }
    }
  })
})
