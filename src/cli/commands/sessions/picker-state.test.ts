import { expect, test } from "vitest"

import { toSessionId } from "../../../protocol/identifiers.ts"
import type { SessionSummary } from "../../../state/store.ts"
import { renderPicker, filteredSessions, handleKey, createPickerState } from "./picker-state.ts"
import type { Key, KeyResult, PickerAction } from "./picker-state.ts"

const NOW = 1_700_000_000

const session = (id: string, more: Partial<SessionSummary> = {}): SessionSummary => ({
  id: toSessionId(id),
  lineageRoot: toSessionId(id),
  kind: "conversation",
  source: "cli",
  title: null,
  preview: "",
  model: null,
  cwd: null,
  startedAt: NOW,
  endedAt: null,
  lastActivity: NOW - 300,
  messageCount: 4,
  toolCallCount: 0,
  ...more,
})
const SESSIONS = [
  session("s1", { title: "Garden plan", preview: "which roses" }),
  session("s2", { preview: "fix the parser", source: "telegram" }),
  session("s3", { title: "Parser notes", preview: "a\tb\u{1B}[31mred" }),
]

const KEYS: Readonly<Record<string, Key>> = {
  "<up>": { name: "up", text: "" },
  "<down>": { name: "down", text: "" },
  "<end>": { name: "end", text: "" },
  "<enter>": { name: "return", text: "\r" },
  "<esc>": { name: "escape", text: "\u{1B}" },
  "<back>": { name: "backspace", text: "\u007F" },
  "<ctrl+d>": { name: "d", ctrl: true, text: "\u0004" },
  "<ctrl+r>": { name: "r", ctrl: true, text: "\u0012" },
  "<ctrl+u>": { name: "u", ctrl: true, text: "\u0015" },
}

/** Presses one key after another; returns the last state and action. */
function after(keys: string): KeyResult {
  let result: KeyResult = { state: createPickerState(SESSIONS), action: { kind: "none" } }
  for (const name of keys.match(/<[^>]+>|[^]/gu) ?? []) {
    result = handleKey(result.state, KEYS[name] ?? { name, text: name })
  }
  return result
}

test.each([
  ["<enter>", "s1"],
  ["<down><enter>", "s2"],
  ["<down><down><down><up><enter>", "s2"],
  ["<end><enter>", "s3"],
  ["2", "s2"],
  ["parser<down><enter>", "s3"],
  ["PARSER telegram<enter>", "s2"],
  ["x<back>3", "s3"],
])("%s picks %s", (keys, id) => {
  expect(after(keys).action).toMatchObject({ kind: "pick", session: { id } })
})

test.each<[string, PickerAction]>([
  ["<esc>", { kind: "leave" }],
  ["nothing like it<enter>", { kind: "none" }],
  ["9", { kind: "none" }],
  ["<ctrl+d>y", { kind: "delete", id: toSessionId("s1") }],
  ["<ctrl+d>n", { kind: "none" }],
  ["<ctrl+r><ctrl+u>New 1<enter>", { kind: "rename", id: toSessionId("s1"), title: "New 1" }],
  ["<ctrl+r>x<esc>", { kind: "none" }],
])("%s", (keys, expected) => {
  const { state, action } = after(keys)
  expect(action).toEqual(expected)
  expect(state.mode).toEqual({ kind: "list" })
})

test("the filter matches title, preview, id and source; digits are part of a filter that is not empty", () => {
  expect(filteredSessions(after("pars").state).map(({ id }) => id)).toEqual(["s2", "s3"])
  expect(filteredSessions(after("s1").state).map(({ id }) => id)).toEqual(["s1"])
  expect(after("s1").state.filter).toBe("s1")
})

test("the screen has the filter, a row per session and the keys; no line is wider than the screen", () => {
  const view = { columns: 80, rows: 10, now: NOW, color: false }
  const lines = renderPicker(after("<down>").state, view)
  expect(lines.map((line) => line.trimEnd())).toEqual([
    "Filter: ▏ (3 sessions)",
    "",
    expect.stringMatching(/^ {2}1 Garden plan +which roses +cli +5m ago +4 msgs$/),
    expect.stringMatching(/^› 2 fix the parser +telegram +5m ago +4 msgs$/),
    expect.stringMatching(/^ {2}3 Parser notes +a bred +cli +5m ago +4 msgs$/),
    "",
    "Enter resumes · type to filter · Ctrl+R renames · Ctrl+D deletes · Esc quits",
  ])
  for (const columns of [30, 80, 200]) {
    for (const line of renderPicker(after("").state, { ...view, columns }))
      expect(line.length).toBeLessThanOrEqual(columns)
  }
})

test("a long list shows the part around the selected session", () => {
  const many = createPickerState(
    Array.from({ length: 50 }, (_, index) => session(`n${index}`, { preview: `talk ${index}` })),
  )
  const lines = renderPicker({ ...many, selected: 30 }, { columns: 80, rows: 9, now: NOW, color: false })
  expect(lines.map((line) => /talk \d+/.exec(line)?.[0]).filter((line) => line !== undefined)).toEqual([
    "talk 28",
    "talk 29",
    "talk 30",
    "talk 31",
    "talk 32",
  ])
})
