import { expect, test } from "vitest"

import { plainTheme } from "../../../test/fixtures/tui/themes.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import {
  createSubagentTree,
  expandedSubagentRows,
  runningSubagentRows,
  subagentRows,
  subagentTreeRows,
} from "./subagent-rows.ts"
import type { SubagentView } from "./subagent-rows.ts"

const NODE: SubagentView = {
  id: "sa-0-aaaa",
  goal: "Read the\nsource",
  model: "small",
  status: "running",
  startedAt: 0,
  toolCount: 3,
  lastTool: "read_file",
  tokens: { input: 1000, output: 234 },
  children: [],
}
const TREE: readonly SubagentView[] = [
  { ...NODE, children: [{ ...NODE, id: "sa-1-bbbb", goal: "Deeper", status: "failed", costUsd: 0.004 }] },
  { ...NODE, id: "sa-2-cccc", goal: "Second", status: "completed", costUsd: 1.5, lastTool: undefined, toolCount: 1 },
]

test("the whole tree", () => {
  expect(subagentTreeRows(TREE, { theme: plainTheme, columns: 90, now: 90_000 })).toEqual([
    "├─ ⠋ Read the source",
    "│  │ sa-0-aaaa · running for 2m · small · 3 tool calls, last read_file · 1.23K tokens",
    "│  └─ ✗ Deeper",
    "│       sa-1-bbbb · failed · small · 3 tool calls, last read_file · 1.23K tokens · $0.0040",
    "└─ ✓ Second",
    "     sa-2-cccc · completed · small · 1 tool call · 1.23K tokens · $1.50",
  ])
})

test("the live area shows those that run", () => {
  const options = { theme: plainTheme, columns: 70, now: 0 }
  expect(runningSubagentRows(TREE, options)).toEqual([
    "└─ ⠋ Read the source  (read_file, 3 calls, 1.23K tokens)",
    "   └─ ✗ Deeper  (read_file, 3 calls, 1.23K tokens)",
  ])
  const many = runningSubagentRows(
    Array.from({ length: 12 }, () => NODE),
    options,
  )
  expect([many.length, many.at(-1)]).toEqual([9, "  … 4 more sub-agents"])
})

test("follows the events of a turn", () => {
  const tree = createSubagentTree(() => 0)
  const options = { theme: plainTheme, columns: 70 }
  const identity = { subagentId: "a", parentId: null, depth: 1 }
  const start = {
    goal: "Read",
    role: "leaf",
    model: "m",
    childSessionId: toSessionId("20260101_100000_aaaaaa"),
  } as const
  tree.handle({ type: "subagent-start", ...identity, ...start, taskIndex: 0, taskCount: 2 }, options)
  tree.handle(
    {
      type: "subagent-start",
      ...identity,
      ...start,
      subagentId: "b",
      parentId: "a",
      depth: 2,
      taskIndex: 0,
      taskCount: 1,
    },
    options,
  )
  tree.handle(
    { type: "status", kind: "subagent", ...identity, activity: "tool", tool: "grep", text: "grep x" },
    options,
  )
  expect(subagentRows(tree, { ...options, now: 0 })).toEqual([
    "└─ ⠋ [1/2] Read  (grep, 1 call)",
    "   └─ ⠋ Read  (starting, 0 calls)",
  ])
  expect(expandedSubagentRows(tree, { ...options, columns: 100, now: 5000 })).toEqual([
    "└─ ⠹ [1/2] Read",
    "   │ a · running for 5s · m · 1 tool call, last grep · 0 tokens",
    "   └─ ⠹ Read",
    "        b · running for 5s · m · 0 tool calls · 0 tokens",
  ])
  const end = {
    status: "completed",
    durationMs: 1500,
    summary: "Found\nit",
    tokens: { input: 1000, output: 1 },
  } as const
  expect(tree.handle({ type: "subagent-end", ...identity, ...end, costUsd: 0.5 }, options)).toEqual([
    "┊ ✓ [1/2] Read: Found it  1.5s, 1K tokens, $0.50",
  ])
  expect(
    tree.handle(
      { type: "subagent-end", ...identity, ...end, subagentId: "b", depth: 2, status: "timeout", costUsd: null },
      options,
    ),
  ).toEqual(["┊   ✗ timeout: Read: Found it  1.5s, 1K tokens"])
  expect(subagentRows(tree, { ...options, now: 0 })).toEqual([])
})
