import type { Clock } from "../../base/clock.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { commandIdOf, createTreeKiller, isSameProcess } from "../process-tree.ts"
import type { BackgroundCommand, Workspace } from "../workspace.ts"
import type { NoticeQueue } from "./notice-queue.ts"
import type { ProcessRecord, StoredProcess } from "./process-file.ts"
import { disabledNotice, matchNotice } from "./process-notices.ts"
import type { ProcessExit, ProcessView } from "./process-view.ts"
import { RollingText } from "./rolling-text.ts"
import { createPatternWatch } from "./watch-patterns.ts"

const MAX_OUTPUT_CHARS = 200_000
const KILLED_CODE = -15

export interface ProcessStartOptions {
  readonly workspace: Workspace
  /** As shown to the user and the model. */
  readonly command: string
  /** What is actually run, if different from `command`. */
  readonly script?: string
  readonly cwd?: string
  readonly pty: boolean
  /** The task that started it, which receives its notices. */
  readonly owner: string
  readonly notifyOnComplete: boolean
  readonly watchPatterns: readonly string[]
  /** Written to its input immediately after the start. */
  readonly stdin?: string
  /** Replaced by `***` in the output. */
  readonly secret?: string
}

/** A process of the registry. Only `lifecycle` and `output` change. */
export interface TrackedProcess {
  readonly id: string
  readonly command: string
  readonly cwd: string
  readonly pid: number
  readonly startToken: string
  readonly owner: string
  readonly startedAt: number
  readonly output: RollingText
  /** Absent for a recovered process. */
  readonly handle?: BackgroundCommand
  /** Whether it runs on this machine, so that a later Hermes process can recover it. */
  readonly isOnHost: boolean
  readonly done: PromiseWithResolvers<undefined>
  readonly lifecycle: Lifecycle
}

interface Lifecycle {
  notify: boolean
  /** Whether the agent has been informed of its exit. */
  isReported: boolean
  /** How many calls are currently waiting for its exit. */
  waiters: number
  killedBy?: string
  exit?: ProcessExit
  exitedAt?: number
}

interface StartContext {
  readonly id: string
  readonly clock: Clock
  readonly redact: (text: string) => string
  readonly notices: NoticeQueue
}

export async function startTrackedProcess(
  options: ProcessStartOptions,
  { id, clock, redact, notices }: StartContext,
): Promise<Result<TrackedProcess & { readonly handle: BackgroundCommand }>> {
  const { workspace, command, owner } = options
  const lifecycle: Lifecycle = { notify: options.notifyOnComplete, isReported: false, waiters: 0 }
  const output = new RollingText(MAX_OUTPUT_CHARS)
  const watch = options.watchPatterns.length === 0 ? undefined : createPatternWatch(options.watchPatterns)
  const onOutput = (raw: string): void => {
    const text = options.secret === undefined ? raw : raw.replaceAll(options.secret, "***")
    output.push(text)
    if (watch === undefined || lifecycle.exit !== undefined) return
    const event = watch.scan(text, clock.now())
    if (event?.kind === "match") notices.pushMatch(owner, redact(matchNotice({ id, command }, event)))
    if (event?.kind === "disabled") {
      lifecycle.notify = true
      notices.push({ owner, isPending: () => true, text: () => redact(disabledNotice({ id, command })) })
    }
  }
  const cwd = options.cwd ?? workspace.cwd()
  let handle: BackgroundCommand
  try {
    handle = await workspace.start(options.script ?? command, {
      pty: options.pty,
      onOutput,
      ...(options.cwd !== undefined && { cwd: options.cwd }),
    })
  } catch (error) {
    return fail(errorMessage(error))
  }
  if (handle.pid === 0) return fail((await handle.exit).error ?? "unknown reason")
  if (options.stdin !== undefined) handle.write(options.stdin)
  return ok({
    id,
    command,
    cwd,
    pid: handle.pid,
    startToken: handle.startToken,
    owner,
    startedAt: clock.now(),
    output,
    handle,
    isOnHost: workspace.kind === "local",
    done: Promise.withResolvers(),
    lifecycle,
  })
}

/** Sets `isOnHost: false` for an entry whose process is gone or whose process id belongs to another process now. */
export function recoverProcess(entry: StoredProcess): TrackedProcess {
  const startToken = String(entry.host_start_time)
  return {
    id: entry.session_id,
    command: entry.command,
    cwd: entry.cwd,
    pid: entry.pid,
    startToken,
    owner: entry.task_id,
    startedAt: entry.started_at * 1000,
    output: new RollingText(1),
    isOnHost: isSameProcess({ pid: entry.pid, startedAt: startToken }),
    done: Promise.withResolvers(),
    lifecycle: { notify: entry.notify_on_complete, isReported: false, waiters: 0 },
  }
}

export function viewOf(process: TrackedProcess, now: number): ProcessView {
  return {
    id: process.id,
    command: process.command,
    cwd: process.cwd,
    pid: process.pid,
    startedAt: process.startedAt,
    uptimeMs: Math.max(0, (process.lifecycle.exitedAt ?? now) - process.startedAt),
    isPty: process.handle?.isPty ?? false,
    isDetached: process.handle === undefined,
    state: process.lifecycle.exit ?? { status: "running" },
    output: process.output.toString(),
    isTruncated: process.output.isTruncated,
  }
}

/** `code` is undefined when the exit was not observed. */
export function exitOf(process: TrackedProcess, code: number | undefined): ProcessExit {
  if (process.lifecycle.killedBy !== undefined) {
    return { status: "exited", exitCode: KILLED_CODE, reason: "killed", source: process.lifecycle.killedBy }
  }
  return { status: "exited", exitCode: code, reason: code === undefined ? "lost" : "exited" }
}

/** Kills a process without a handle by its id; the start time ensures that it is still the same process. */
export async function killRecoveredProcess(process: TrackedProcess, clock: Clock): Promise<void> {
  const killer = createTreeKiller(process.pid, commandIdOf(process.pid))
  const timeout = AbortSignal.timeout(KILL_TIMEOUT_MS)
  killer.terminate()
  while (!timeout.aborted && isSameProcess({ pid: process.pid, startedAt: process.startToken })) {
    await clock.sleep(20, { signal: new AbortController().signal })
  }
  killer.finish()
}

const KILL_TIMEOUT_MS = 3000

/** Returns what a later Hermes process needs to recover it; nothing for a process that has exited or runs elsewhere. */
export function processRecords(process: TrackedProcess): readonly ProcessRecord[] {
  if (!process.isOnHost || process.lifecycle.exit !== undefined || process.startToken === "") return []
  return [
    {
      session_id: process.id,
      command: process.command,
      cwd: process.cwd,
      pid: process.pid,
      host_start_time: Number(process.startToken),
      started_at: process.startedAt / 1000,
      task_id: process.owner,
      notify_on_complete: process.lifecycle.notify,
    },
  ]
}
