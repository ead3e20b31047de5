import { assertNever } from "../../base/assert-never.ts"
import { compactCount, compactDuration } from "../../base/compact-count.ts"
import { counted } from "../../base/counted.ts"
import type { SubagentEnd, SubagentEvent, SubagentStart } from "../../protocol/events.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import { textColumns } from "../../terminal/text-width.ts"
import type { Row } from "../drawing.ts"
import type { Theme } from "../theme/theme.ts"
import type { RowOptions } from "./row-options.ts"
import { clipSpans, rowOf, span } from "./spans.ts"
import type { Paint } from "./spans.ts"
import { spinnerFrame } from "./spinner.ts"

/** A sub-agent with those that it started; the nodes of `app.subAgents.tree()` have this form. */
export interface SubagentView {
  readonly id: string
  readonly goal: string
  readonly model?: string
  readonly status: "running" | "completed" | "failed" | "error" | "timeout" | "interrupted"
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly toolCount: number
  readonly lastTool: string | undefined
  readonly tokens: { readonly input: number; readonly output: number }
  /** Absent or null when the price is unknown. */
  readonly costUsd?: number | null
  readonly children: readonly SubagentView[]
}

/** Follows the sub-agents of a turn through its events. */
export interface SubagentTree {
  /** Returns what to print: a line for each one that has ended. */
  handle(event: SubagentEvent, options: RowOptions): readonly Row[]
  nodes(): readonly SubagentView[]
}

/** `now` is the clock of `SubagentRowOptions`. */
export function createSubagentTree(now: () => number): SubagentTree {
  const views = new Map<string, FollowedSubagent>()
  const change = (id: string, changes: Partial<FollowedSubagent>): void => {
    const view = views.get(id)
    if (view !== undefined) views.set(id, { ...view, ...changes })
  }
  const withChildren = (view: FollowedSubagent): SubagentView => ({
    ...view,
    children: [...views.values()].filter(({ parentId }) => parentId === view.id).map(withChildren),
  })
  return {
    nodes: () =>
      [...views.values()].filter(({ parentId }) => parentId === null || !views.has(parentId)).map(withChildren),
    handle: (event, options) => {
      const { subagentId: id } = event
      switch (event.type) {
        case "subagent-start":
          views.set(id, startedView(event, now()))
          return []
        case "status":
          if (event.activity === "tool") {
            change(id, { toolCount: (views.get(id)?.toolCount ?? 0) + 1, lastTool: event.tool ?? event.text })
          }
          return []
        case "subagent-end": {
          const { status, tokens, costUsd } = event
          const goal = views.get(id)?.goal ?? ""
          change(id, { status, tokens, costUsd })
          return [endedRow(event, goal, options)]
        }
        default:
          return assertNever(event)
      }
    },
  }
}

/** The sub-agents of a turn that run, for the live area. */
export function subagentRows(tree: SubagentTree, options: SubagentRowOptions): readonly Row[] {
  return runningSubagentRows(tree.nodes(), options)
}

const MAX_EXPANDED_ROWS = 12

/** The same with what they did and what they cost. */
export function expandedSubagentRows(tree: SubagentTree, options: SubagentRowOptions): readonly Row[] {
  return subagentTreeRows(tree.nodes().filter(isActive), options).slice(0, MAX_EXPANDED_ROWS)
}

interface FollowedSubagent extends Omit<SubagentView, "children"> {
  readonly parentId: string | null
}

function startedView(
  { subagentId, parentId, goal, model, taskIndex, taskCount }: SubagentStart,
  startedAt: number,
): FollowedSubagent {
  return {
    id: subagentId,
    parentId,
    goal: taskCount === 1 ? goal : `[${taskIndex + 1}/${taskCount}] ${goal}`,
    model,
    status: "running",
    startedAt,
    toolCount: 0,
    lastTool: undefined,
    tokens: { input: 0, output: 0 },
  }
}

/** `┊ ✓ [1/2] goal: summary  12.3s, 1.2K tokens, $0.01` */
function endedRow(end: SubagentEnd, goal: string, { theme, columns }: RowOptions): Row {
  const isDone = end.status === "completed"
  const cost = end.costUsd === null ? "" : `, ${costText(end.costUsd)}`
  const figures = `  ${(end.durationMs / 1000).toFixed(1)}s, ${compactCount(end.tokens.input + end.tokens.output)} tokens${cost}`
  const text = `${"  ".repeat(end.depth - 1)}${isDone ? "✓" : `✗ ${end.status}:`} ${oneLine(goal)}: ${oneLine(end.summary)}`
  const head = `${theme.toolPrefix} `
  const room = Math.max(12, columns - textColumns(head) - figures.length)
  const middle = clipSpans([span(text, isDone ? undefined : (part) => theme.paint("ui_error", part))], room)
  const dim: Paint = (part) => theme.style("dim", part)
  return rowOf(clipSpans([span(head, dim), ...middle.spans, span(figures, dim)], columns))
}

export interface SubagentRowOptions extends RowOptions {
  readonly now: number
}

const MAX_LIVE_ROWS = 8

/** The sub-agents that run, for the live area: one row each. */
export function runningSubagentRows(nodes: readonly SubagentView[], options: SubagentRowOptions): readonly Row[] {
  const rows = treeRows(nodes.filter(isActive), options, (node) => [liveRow(node, options)])
  const hidden = rows.length - MAX_LIVE_ROWS
  if (hidden <= 0) return rows
  return [...rows.slice(0, MAX_LIVE_ROWS), options.theme.style("dim", `  … ${counted(hidden, "more sub-agent")}`)]
}

/** All sub-agents, with what they did and what they cost. */
export function subagentTreeRows(nodes: readonly SubagentView[], options: SubagentRowOptions): readonly Row[] {
  return treeRows(nodes, options, (node) => [
    `${mark(node, options)} ${oneLine(node.goal)}`,
    factsOf(node, options.now),
  ])
}

function isActive(node: SubagentView): boolean {
  return node.status === "running" || node.children.some(isActive)
}

function treeRows(
  nodes: readonly SubagentView[],
  options: SubagentRowOptions,
  linesOf: (node: SubagentView) => readonly string[],
  indent = "",
): readonly Row[] {
  const { theme, columns } = options
  // Deeper branches than the screen has room for are not indented further.
  const isDeep = indent.length > columns / 3
  return nodes.flatMap((node, index) => {
    const isLast = index === nodes.length - 1
    const branch = isDeep ? "" : isLast ? "└─ " : "├─ "
    const rest = isDeep ? "" : isLast ? "   " : "│  "
    const dim: Paint = (text) => theme.style("dim", text)
    const rows = linesOf(node).map((line, row) => {
      const before = span(indent + (row === 0 ? branch : rest + (node.children.length > 0 ? "│ " : "  ")), dim)
      return rowOf(clipSpans([before, span(line, row === 0 ? paintOf(node, theme) : dim)], columns))
    })
    return [...rows, ...treeRows(node.children, options, linesOf, isDeep ? indent : indent + rest)]
  })
}

function paintOf({ status }: SubagentView, theme: Theme): Paint | undefined {
  if (status === "running" || status === "completed") return undefined
  return (text) => theme.paint("ui_error", text)
}

function mark(node: SubagentView, { theme, now }: SubagentRowOptions): string {
  if (node.status === "running") return spinnerFrame(theme, Math.max(0, now - node.startedAt))
  return node.status === "completed" ? "✓" : "✗"
}

function liveRow(node: SubagentView, options: SubagentRowOptions): string {
  const doing = node.lastTool === undefined ? "starting" : oneLine(node.lastTool)
  const tokens = total(node) === 0 ? "" : `, ${compactCount(total(node))} tokens`
  const figures = `${doing}, ${counted(node.toolCount, "call")}${tokens}`
  return `${mark(node, options)} ${shortened(oneLine(node.goal), options.columns - figures.length - 12)}  (${figures})`
}

function shortened(text: string, columns: number): string {
  return rowOf(clipSpans([span(text)], Math.max(8, columns)))
}

function factsOf(node: SubagentView, now: number): string {
  const { status, startedAt, toolCount, lastTool, costUsd, model } = node
  return [
    node.id,
    status === "running" ? `running for ${compactDuration(Math.max(0, now - startedAt) / 1000)}` : status,
    ...(model === undefined ? [] : [oneLine(model)]),
    `${counted(toolCount, "tool call")}${lastTool === undefined ? "" : `, last ${oneLine(lastTool)}`}`,
    `${compactCount(total(node))} tokens`,
    ...(typeof costUsd === "number" ? [costText(costUsd)] : []),
  ].join(" · ")
}

function costText(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`
}

function total({ tokens }: SubagentView): number {
  return tokens.input + tokens.output
}
