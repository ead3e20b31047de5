import { expect, test } from "vitest"

import { toSessionId } from "../../protocol/identifiers.ts"
import { createSubagentTree } from "./subagent-tree.ts"

const options = { columns: 80, color: false }

test("sub-agents are shown as an indented tree with a line for each tool call", () => {
  const tree = createSubagentTree()
  const first = { subagentId: "sa-0-1", parentId: null, depth: 1 }
  const nested = { subagentId: "sa-0-2", parentId: "sa-0-1", depth: 2 }
  const start = {
    type: "subagent-start",
    goal: "Look",
    role: "leaf",
    model: "m",
    childSessionId: toSessionId("c"),
  } as const
  const status = {
    type: "status",
    kind: "subagent",
    activity: "tool",
    tool: "read_file",
    text: "read_file a.txt",
  } as const
  const end = { type: "subagent-end", durationMs: 1200, tokens: { input: 900, output: 100 }, costUsd: null } as const
  const lines = [
    ...tree.lines({ ...start, ...first, taskIndex: 0, taskCount: 2 }, options),
    ...tree.lines({ ...status, ...first }, options),
    ...tree.lines({ ...status, ...first, activity: "thinking", text: "" }, options),
    ...tree.lines({ ...start, ...nested, taskIndex: 0, taskCount: 1 }, options),
    ...tree.lines({ ...end, ...nested, status: "completed", summary: "Found.\nMore." }, options),
    ...tree.lines({ ...end, ...first, status: "failed", summary: "no answer" }, options),
  ]
  expect(lines).toEqual([
    "  ┌ [1/2] Look",
    "  │ [1/2] → read_file a.txt",
    "      ┌ Look",
    "      └ ✓ Found. (1.2 s, 1K tokens)",
    "  └ [1/2] ✗ failed: no answer (1.2 s, 1K tokens)",
  ])
  expect(tree.text()).toBeUndefined()
})
