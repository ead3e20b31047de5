import { assertNever } from "../../base/assert-never.ts"
import { compactCount } from "../../base/compact-count.ts"
import type { SubagentEnd, SubagentEvent, SubagentStart } from "../../protocol/events.ts"
import { cutToColumns } from "../../terminal/text-layout.ts"
import { paint } from "./tool-lines.ts"
import type { ToolLineOptions } from "./tool-lines.ts"

/** Shows the sub-agents of a turn as an indented tree: a line for the start, each tool call and the end of each one. */
export interface SubagentTree {
  lines(event: SubagentEvent, options: ToolLineOptions): readonly string[]
  /** What the turn waits for; undefined when no sub-agent runs. */
  text(): string | undefined
}

export function createSubagentTree(): SubagentTree {
  /** The label of each one that runs: its number among those of the same call. */
  const running = new Map<string, string>()
  return {
    lines: (event, { columns, color }) => {
      const line = lineOf(event, running.get(event.subagentId) ?? "")
      if (event.type === "subagent-start") running.set(event.subagentId, label(event))
      if (event.type === "subagent-end") running.delete(event.subagentId)
      if (line === undefined) return []
      const indent = "  ".repeat(2 * event.depth - 1)
      const failed = event.type === "subagent-end" && event.status !== "completed"
      return [paint(indent + cutToColumns(line, Math.max(20, columns - indent.length)), failed ? "red" : "dim", color)]
    },
    text: () => {
      if (running.size === 0) return undefined
      return running.size === 1 ? "Running 1 sub-agent" : `Running ${running.size} sub-agents`
    },
  }
}

function lineOf(event: SubagentEvent, known: string): string | undefined {
  switch (event.type) {
    case "subagent-start":
      return `┌ ${label(event)}${event.goal}`
    case "subagent-end":
      return `└ ${known}${event.status === "completed" ? "✓" : `✗ ${event.status}:`} ${firstLine(event)} (${figures(event)})`
    case "status":
      return event.activity === "tool" ? `│ ${known}→ ${event.text}` : undefined
    default:
      return assertNever(event)
  }
}

function label({ taskIndex, taskCount }: SubagentStart): string {
  return taskCount === 1 ? "" : `[${taskIndex + 1}/${taskCount}] `
}

function firstLine({ summary }: SubagentEnd): string {
  return summary.trim().split("\n", 1)[0] ?? ""
}

function figures({ durationMs, tokens }: SubagentEnd): string {
  return `${(durationMs / 1000).toFixed(1)} s, ${compactCount(tokens.input + tokens.output)} tokens`
}
