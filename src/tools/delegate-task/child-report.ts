import type { RunEnd, SubagentOutcome, SubagentRole } from "../../protocol/events.ts"
import type { Message } from "../../protocol/message.ts"
import type { ToolOutcome } from "../../protocol/tool.ts"
import { promptTokens } from "../../protocol/usage.ts"

/** How one delegated task ended, as the model that delegated it reads it. */
export interface ChildReport {
  readonly task_index: number
  readonly status: SubagentOutcome
  readonly summary: string
  readonly error?: string
  readonly api_calls: number
  readonly duration_seconds: number
  readonly model: string
  readonly exit_reason: string
  readonly tokens: { readonly input: number; readonly output: number }
  readonly tool_trace: readonly TracedCall[]
  readonly stale_paths?: readonly string[]
  readonly role: SubagentRole
  readonly note?: string
  /** The branch with its work, if it worked in a worktree and changed something. */
  readonly branch?: string
}

export interface TracedCall {
  readonly tool: string
  readonly args_bytes: number
  readonly result_bytes: number
  readonly status: ToolOutcome | "unknown"
}

export type ChildOutcome = Pick<
  ChildReport,
  "status" | "summary" | "error" | "api_calls" | "exit_reason" | "tokens" | "tool_trace"
> & { readonly costUsd: number | null }

const MAX_TRACED = 100

/** Why a run was stopped from outside. */
export type Stopped = "interrupted" | { readonly timeoutMs: number }

/** The outcome of the runs of a sub-agent; the last one decides. */
export function outcomeOf(
  ends: readonly RunEnd[],
  { stopped, outcomes }: { readonly stopped: Stopped | undefined; readonly outcomes: ReadonlyMap<string, ToolOutcome> },
): ChildOutcome {
  const last = ends.at(-1)
  const totals = {
    api_calls: sum(ends, ({ result }) => result.apiCalls),
    tokens: {
      input: sum(ends, ({ result }) => promptTokens(result.usage)),
      output: sum(ends, ({ result }) => result.usage.output),
    },
    tool_trace: traceOf(last?.result.messages ?? [], outcomes),
    costUsd: ends.some(({ result }) => result.costUsd === null) ? null : sum(ends, ({ result }) => result.costUsd ?? 0),
  }
  const summary = answerOf(last)
  if (stopped === "interrupted")
    return {
      ...totals,
      status: "interrupted",
      summary,
      error: "It was stopped before it finished.",
      exit_reason: "interrupted",
    }
  if (stopped !== undefined) {
    const error = `It did not finish within ${stopped.timeoutMs / 1000} seconds (delegation.child_timeout_seconds).`
    return { ...totals, status: "timeout", summary, error, exit_reason: "timeout" }
  }
  if (last === undefined || last.outcome === "error") {
    const error = last?.result.error?.message ?? "It ended without a result."
    return { ...totals, status: "failed", summary, error, exit_reason: last?.result.exitReason ?? "error" }
  }
  if (last.outcome === "interrupted")
    return {
      ...totals,
      status: "interrupted",
      summary,
      error: "It was stopped before it finished.",
      exit_reason: "interrupted",
    }
  if (summary === "")
    return {
      ...totals,
      status: "failed",
      summary,
      error: "It ended without an answer.",
      exit_reason: last.result.exitReason,
    }
  const exitReason = last.outcome === "max-turns" ? "max_iterations" : "completed"
  return { ...totals, status: "completed", summary, exit_reason: exitReason }
}

/** The text that stands for an empty reply is no answer. */
function answerOf(end: RunEnd | undefined): string {
  const text = end?.result.finalResponse?.trim() ?? ""
  return text === "(empty)" ? "" : text
}

function traceOf(messages: readonly Message[], outcomes: ReadonlyMap<string, ToolOutcome>): readonly TracedCall[] {
  const results = new Map(
    messages.flatMap((message) => (message.role === "tool" ? [[message.tool_call_id, bytesOf(message.content)]] : [])),
  )
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []))
  return calls.slice(-MAX_TRACED).map(({ id, function: { name, arguments: args } }) => ({
    tool: name,
    args_bytes: Buffer.byteLength(args),
    result_bytes: results.get(id) ?? 0,
    status: outcomes.get(id) ?? "unknown",
  }))
}

function bytesOf(content: Extract<Message, { role: "tool" }>["content"]): number {
  return Buffer.byteLength(typeof content === "string" ? content : JSON.stringify(content))
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0)
}
