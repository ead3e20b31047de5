import { z } from "zod"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { ellipsize } from "../../base/text.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import type { SpawnAgentPort } from "../../toolkit/ports/spawn-agent.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { digestChars, digestValue } from "../../toolkit/digest-line.ts"
import { failure } from "../failure.ts"
import type { ChildReport } from "./child-report.ts"
import { runTasks } from "./run-tasks.ts"
import type { DelegatedTask } from "./run-tasks.ts"

const ROLE = z.enum(["leaf", "orchestrator"])

const TASK = z.object({
  goal: z.string(),
  context: z.string().optional(),
  toolsets: z.array(z.string()).optional(),
  role: ROLE.optional(),
  worktree: z.boolean().optional(),
})

const INPUT = TASK.extend({
  goal: z.string().optional().describe("What to achieve. Either this or tasks"),
  context: z.string().optional().describe("Everything it must know: paths, errors, constraints"),
  toolsets: z.array(z.string()).optional().describe("Limits its tools; default: yours"),
  tasks: z.array(TASK).optional().describe("Run at the same time"),
  role: ROLE.optional().describe("An orchestrator may delegate itself"),
  worktree: z.boolean().optional().describe("Work in a git worktree of its own; the result names the branch"),
  background: z.boolean().optional().describe("Return at once; the result arrives later as a notice"),
})

export const delegateTask = defineTool({
  name: "delegate_task",
  toolset: "delegation",
  inChildren: false,
  role: "delegation",
  provenance: "agent",
  description:
    "Let sub-agents work on tasks that need much reading or are independent of each other; only their summaries come back. Not " +
    "for a single call, mechanical steps or what needs the user. They know nothing of this conversation, so give paths, errors and " +
    "constraints. They cannot ask, remember, send messages, run scripts or delegate. A summary is their own claim: verify it.",
  input: INPUT,
  access: "agent",
  subject: () => ({ kind: "name", name: "delegate_task" }),
  label: { emoji: "🔀", verb: "delegate" },
  preview: ({ goal, tasks }) => goal ?? (tasks ?? []).map((task) => task.goal).join(" | "),
  digest: ({ args, result }) => {
    const goal = ellipsize(digestValue(args["goal"] ?? firstGoal(args["tasks"])), MAX_DIGEST_CHARS)
    return `[delegate_task] '${goal}' (${digestChars(result)} chars result)`
  },
  parallel: "never",
  run: async (args, context) => {
    const port = context.ports.spawnAgent
    if (port === undefined) return failure("delegate_task is not available here: this session cannot start sub-agents")
    const tasks = tasksOf(args, port)
    if (!tasks.ok) return failure(tasks.error)
    const refusal = port.refusal()
    if (refusal !== undefined) return failure(refusal)
    return args.background === true
      ? await dispatchInBackground(tasks.value, port, context)
      : await runInCall(tasks.value, port, context)
  },
})

const MAX_DIGEST_CHARS = 60

function firstGoal(tasks: unknown): unknown {
  const [first]: readonly unknown[] = Array.isArray(tasks) ? tasks : []
  const parsed = TASK.pick({ goal: true }).safeParse(first)
  return parsed.success ? parsed.data.goal : ""
}

/** The tasks of a call, or a sentence for the model. */
function tasksOf(args: z.output<typeof INPUT>, { limits }: SpawnAgentPort): Result<readonly DelegatedTask[]> {
  const { goal, tasks, background: _background, ...common } = args
  if (goal !== undefined && goal.trim() !== "" && tasks !== undefined && tasks.length > 0)
    return fail("give either goal or tasks, not both")
  if (tasks !== undefined && tasks.length > limits.maxConcurrent) {
    return fail(
      `${tasks.length} tasks are too many: at most ${limits.maxConcurrent} run at the same time (delegation.max_concurrent_children). Send fewer per call`,
    )
  }
  const given = tasks === undefined || tasks.length === 0 ? [{ ...common, goal: goal ?? "" }] : tasks
  if (tasks?.length === 0 && goal === undefined) return fail("tasks is empty: give at least one task, or a goal")
  if (given.some((task) => task.goal.trim() === ""))
    return fail(
      tasks === undefined ? "goal is required: say what the sub-agent should achieve" : "every task needs a goal",
    )
  return ok(
    given.map((task): DelegatedTask => {
      const context = task.context ?? common.context
      const toolsets = task.toolsets ?? common.toolsets
      return {
        goal: task.goal.trim(),
        ...(context === undefined ? {} : { context }),
        ...(toolsets === undefined ? {} : { toolsets }),
        role: task.role ?? common.role ?? "leaf",
        worktree: task.worktree ?? common.worktree ?? false,
      }
    }),
  )
}

async function runInCall(
  tasks: readonly DelegatedTask[],
  port: SpawnAgentPort,
  context: ToolContext,
): Promise<ToolResult> {
  const { clock, signal, emit } = context
  const started = clock.now()
  const results = await runTasks(tasks, {
    port,
    clock,
    signal,
    emit: (event) => emit?.(event),
    beat: () => {
      context.progress("[the sub-agents are working]\n")
    },
  })
  return { content: contentOf(results, clock.now() - started), summary: summaryOf(results) }
}

function contentOf(results: readonly ChildReport[], durationMs: number): Readonly<Record<string, unknown>> {
  return { results, total_duration_seconds: Math.round(durationMs / 10) / 100 }
}

function summaryOf(results: readonly ChildReport[]): string {
  const [only, ...others] = results
  if (only !== undefined && others.length === 0)
    return only.status === "completed" ? "completed" : `${only.status}: ${only.error ?? ""}`
  const counts = new Map<string, number>()
  for (const { status } of results) counts.set(status, (counts.get(status) ?? 0) + 1)
  return Array.from(counts, ([status, count]) => `${count} ${status}`).join(", ")
}

async function dispatchInBackground(
  tasks: readonly DelegatedTask[],
  port: SpawnAgentPort,
  { clock }: ToolContext,
): Promise<ToolResult> {
  const [task, ...others] = tasks
  if (task === undefined || others.length > 0)
    return failure("background takes a single goal: send one call for each task, or leave background out")
  const { background } = port
  if (background === undefined)
    return failure("background is not possible here: nothing could deliver the result later. Leave background out")
  const { goal, context } = task
  const dispatched = await background.dispatch({
    goal,
    ...(context === undefined ? {} : { context }),
    work: async ({ delegationId, signal }) => {
      const started = clock.now()
      const run = { port, clock, signal, delegationId, emit: () => undefined, beat: () => undefined }
      const results = await runTasks([task], run)
      return { status: results[0]?.status ?? "error", result: contentOf(results, clock.now() - started) }
    },
  })
  if (!dispatched.ok) return failure(dispatched.error)
  const { delegationId } = dispatched.value
  return {
    content: {
      status: "dispatched",
      delegation_id: delegationId,
      goal,
      note: "It works in the background. Its result arrives as a notice; do not wait for it.",
    },
    summary: `started in the background as ${delegationId}`,
  }
}
