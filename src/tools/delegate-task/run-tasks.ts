import { isAbort } from "../../base/abort.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import type { SubagentEvent, SubagentRole, SubagentStatus } from "../../protocol/events.ts"
import type { SpawnAgentPort, SpawnedAgent } from "../../toolkit/ports/spawn-agent.ts"
import type { ToolContext } from "../../toolkit/tool.ts"
import { watchChild } from "./child-events.ts"
import type { WatchedChild } from "./child-events.ts"
import { outcomeOf } from "./child-report.ts"
import type { ChildOutcome, ChildReport, Stopped } from "./child-report.ts"
import { keepAlive } from "./heartbeat.ts"

export interface DelegatedTask {
  readonly goal: string
  readonly context?: string
  readonly toolsets?: readonly string[]
  readonly role: SubagentRole
  readonly worktree: boolean
}

/** Where the tasks run: in a call, or in the background of the conversation. */
export interface TaskRun extends Pick<ToolContext, "clock" | "signal"> {
  readonly port: SpawnAgentPort
  readonly delegationId?: string
  readonly emit: (event: SubagentEvent) => void
  /** The session that waits is not inactive. */
  readonly beat: () => void
}

const MAX_SUMMARY_EVENT_CHARS = 500

/** Runs all tasks at the same time. Reports are in the order of the tasks; a task that fails does not affect the others. */
export async function runTasks(tasks: readonly DelegatedTask[], run: TaskRun): Promise<readonly ChildReport[]> {
  return await Promise.all(tasks.map((task, index) => runTask(task, { index, count: tasks.length }, run)))
}

interface TaskNumber {
  readonly index: number
  readonly count: number
}

async function runTask(task: DelegatedTask, { index, count }: TaskNumber, run: TaskRun): Promise<ChildReport> {
  const { clock, port, emit } = run
  const started = clock.now()
  const { parentId, depth } = port.limits
  const identity = { subagentId: `sa-${index}-${randomHex(4)}`, parentId, depth: depth + 1 }
  const status = (activity: SubagentStatus["activity"], text: string): SubagentStatus => ({
    type: "status",
    kind: "subagent",
    ...identity,
    activity,
    text,
  })
  emit(status("spawn-requested", ellipsize(task.goal, MAX_SUMMARY_EVENT_CHARS)))
  const stop = new AbortController()
  const spawned = await port.spawn({
    ...task,
    id: identity.subagentId,
    ...(run.delegationId === undefined ? {} : { delegationId: run.delegationId }),
    signal: AbortSignal.any([run.signal, stop.signal]),
  })
  const seconds = (): number => Math.round((clock.now() - started) / 10) / 100
  if (!spawned.ok) {
    return { ...NOT_STARTED, task_index: index, error: spawned.error, duration_seconds: seconds(), role: task.role }
  }
  const child = spawned.value
  const { role, model } = child
  emit({
    type: "subagent-start",
    ...identity,
    goal: ellipsize(task.goal, MAX_SUMMARY_EVENT_CHARS),
    role,
    model,
    childSessionId: child.sessionId,
    taskIndex: index,
    taskCount: count,
  })
  const watched = watchChild(identity)
  const { costUsd, ...outcome } = await runChild(child, { ...run, watched, stop })
  const { status: ended, summary, tokens } = outcome
  const closed = await child.close({ status: ended, summary, hasAnswered: watched.hasAnswered() })
  emit({
    type: "subagent-end",
    ...identity,
    status: ended,
    durationMs: clock.now() - started,
    summary: ellipsize(ended === "completed" ? summary : (outcome.error ?? summary), MAX_SUMMARY_EVENT_CHARS),
    tokens,
    costUsd,
  })
  const notes = [child.note, closed.keptWorktree, staleNote(closed.stalePaths)].filter((note) => note !== undefined)
  const diagnostics =
    closed.diagnosticFile === undefined
      ? ""
      : ` Its model never answered; facts for the user are in ${closed.diagnosticFile}.`
  return {
    task_index: index,
    ...outcome,
    ...(outcome.error === undefined ? {} : { error: outcome.error + diagnostics }),
    duration_seconds: seconds(),
    model,
    ...(closed.stalePaths.length === 0 ? {} : { stale_paths: closed.stalePaths.slice(0, MAX_STALE_PATHS) }),
    role,
    ...(notes.length === 0 ? {} : { note: notes.join(" ") }),
    ...(closed.branch === undefined ? {} : { branch: closed.branch }),
  }
}

const NOT_STARTED = {
  status: "error",
  summary: "",
  api_calls: 0,
  model: "",
  exit_reason: "not_started",
  tokens: { input: 0, output: 0 },
  tool_trace: [],
} as const

const MAX_STALE_PATHS = 8

function staleNote(paths: readonly string[]): string | undefined {
  if (paths.length === 0) return undefined
  const more = paths.length > MAX_STALE_PATHS ? ` (the first ${MAX_STALE_PATHS} of ${paths.length} are listed)` : ""
  return `It changed files that you had read${more}; read those in stale_paths again before you edit them.`
}

interface ChildRun extends TaskRun {
  readonly watched: WatchedChild
  /** Ends this sub-agent. */
  readonly stop: AbortController
}

/** Follows a sub-agent to its end, which comes soon after its time is over or its signal aborts. */
async function runChild(child: SpawnedAgent, run: ChildRun): Promise<ChildOutcome> {
  const { clock, port, stop, watched } = run
  const finished = new AbortController()
  const { timeoutMs } = port.limits
  let timedOut = false
  const timeout =
    timeoutMs === undefined
      ? undefined
      : clock.sleep(timeoutMs, { signal: finished.signal }).then(() => {
          timedOut = true
          stop.abort()
        }, ignoreAbort)
  const alive = keepAlive(() => watched.progress(), { clock, signal: finished.signal, beat: run.beat })
  const stopped = (): Stopped | undefined => {
    if (timedOut && timeoutMs !== undefined) return { timeoutMs }
    return child.signal.aborted ? "interrupted" : undefined
  }
  try {
    for await (const event of child.run()) for (const shown of watched.observe(event)) run.emit(shown)
    return outcomeOf(watched.ends, { stopped: stopped(), outcomes: watched.outcomes })
  } catch (error) {
    const { error: known, ...outcome } = outcomeOf(watched.ends, { stopped: stopped(), outcomes: watched.outcomes })
    if (outcome.status === "interrupted" || outcome.status === "timeout")
      return { ...outcome, ...(known === undefined ? {} : { error: known }) }
    return { ...outcome, status: "error", error: errorMessage(error), exit_reason: "error" }
  } finally {
    finished.abort()
    await Promise.all([alive, timeout])
  }
}

function ignoreAbort(error: unknown): void {
  if (!isAbort(error)) throw error
}
