import type { Clock } from "../../base/clock.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { commandIdOf, createTreeKiller, isSameProcess } from "../process-tree.ts"
import type { BackgroundCommand, Workspace } from "../workspace.ts"
import type { NoticeQueue } from "./notice-queue.ts"
import type { OwnProcess, StoredProcess } from "./process-file.ts"
import { disabledNotice, matchNotice } from "./process-notices.ts"
import type { ProcessEnd, ProcessView } from "./process-view.ts"
import { RollingText } from "./rolling-text.ts"
import { createWatch } from "./watch-patterns.ts"

const MAX_OUTPUT_CHARS = 200_000
const KILLED_CODE = -15

export interface StartProcess {
  readonly workspace: Workspace
  /** As people and the model see it. */
  readonly command: string
  /** What is really run, where it differs. */
  readonly script?: string
  readonly cwd?: string
  readonly pty: boolean
  /** Who is told about it: the task that started it. */
  readonly owner: string
  readonly notifyOnComplete: boolean
  readonly watchPatterns: readonly string[]
  /** Written to its input at once. */
  readonly stdin?: string
  /** Must not be shown, whoever prints it. */
  readonly secret?: string
}

/** A process of the registry. `life` is what changes. */
export interface Tracked {
  readonly id: string
  readonly command: string
  readonly cwd: string
  readonly pid: number
  readonly startToken: string
  readonly owner: string
  readonly startedAt: number
  readonly output: RollingText
  /** Absent for a process that was found again. */
  readonly handle?: BackgroundCommand
  /** On this machine, so that it can be found again. */
  readonly isOnHost: boolean
  readonly done: PromiseWithResolvers<undefined>
  readonly life: Life
}

interface Life {
  notify: boolean
  /** The agent knows that it has ended. */
  told: boolean
  /** How many calls wait for its end right now. */
  waiters: number
  killedBy?: string
  end?: ProcessEnd
  endedAt?: number
}

interface Surroundings {
  readonly id: string
  readonly clock: Clock
  readonly redact: (text: string) => string
  readonly notices: NoticeQueue
}

export async function beginProcess(
  wanted: StartProcess,
  { id, clock, redact, notices }: Surroundings,
): Promise<Result<Tracked & { readonly handle: BackgroundCommand }>> {
  const { workspace, command, owner } = wanted
  const life: Life = { notify: wanted.notifyOnComplete, told: false, waiters: 0 }
  const output = new RollingText(MAX_OUTPUT_CHARS)
  const watch = wanted.watchPatterns.length === 0 ? undefined : createWatch(wanted.watchPatterns)
  const onOutput = (said: string): void => {
    const text = wanted.secret === undefined ? said : said.replaceAll(wanted.secret, "***")
    output.push(text)
    if (watch === undefined || life.end !== undefined) return
    const event = watch.scan(text, clock.now())
    if (event?.kind === "match") notices.pushMatch(owner, redact(matchNotice({ id, command }, event)))
    if (event?.kind === "disabled") {
      life.notify = true
      notices.push({ owner, isStillNews: () => true, text: () => redact(disabledNotice({ id, command })) })
    }
  }
  const cwd = wanted.cwd ?? workspace.cwd()
  let handle: BackgroundCommand
  try {
    handle = await workspace.start(wanted.script ?? command, {
      pty: wanted.pty,
      onOutput,
      ...(wanted.cwd !== undefined && { cwd: wanted.cwd }),
    })
  } catch (error) {
    return fail(errorMessage(error))
  }
  if (handle.pid === 0) return fail((await handle.exit).error ?? "unknown reason")
  if (wanted.stdin !== undefined) handle.write(wanted.stdin)
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
    life,
  })
}

/** An entry whose process is gone, or whose number belongs to another one now, is `isOnHost: false`. */
export function processFoundAgain(entry: StoredProcess): Tracked {
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
    life: { notify: entry.notify_on_complete, told: false, waiters: 0 },
  }
}

export function viewOf(one: Tracked, now: number): ProcessView {
  return {
    id: one.id,
    command: one.command,
    cwd: one.cwd,
    pid: one.pid,
    startedAt: one.startedAt,
    uptimeMs: Math.max(0, (one.life.endedAt ?? now) - one.startedAt),
    isPty: one.handle?.isPty ?? false,
    isDetached: one.handle === undefined,
    state: one.life.end ?? { status: "running" },
    output: one.output.toString(),
    isCut: one.output.isCut,
  }
}

/** A code of undefined: it ended and nobody saw how. */
export function endOf(one: Tracked, code: number | undefined): ProcessEnd {
  if (one.life.killedBy !== undefined) {
    return { status: "exited", exitCode: KILLED_CODE, reason: "killed", source: one.life.killedBy }
  }
  return { status: "exited", exitCode: code, reason: code === undefined ? "lost" : "exited" }
}

/** A process without a handle is found by its number; the start time says that it is still the same one. */
export async function killFoundProcess(one: Tracked, clock: Clock): Promise<void> {
  const killer = createTreeKiller(one.pid, commandIdOf(one.pid))
  const patience = AbortSignal.timeout(KILL_PATIENCE_MS)
  killer.terminate()
  while (!patience.aborted && isSameProcess({ pid: one.pid, startedAt: one.startToken })) {
    await clock.sleep(20, { signal: new AbortController().signal })
  }
  killer.finish()
}

const KILL_PATIENCE_MS = 3000

/** What a later Hermes needs to find it again; nothing for what has ended or runs elsewhere. */
export function storedProcess(one: Tracked): readonly OwnProcess[] {
  if (!one.isOnHost || one.life.end !== undefined || one.startToken === "") return []
  return [
    {
      session_id: one.id,
      command: one.command,
      cwd: one.cwd,
      pid: one.pid,
      host_start_time: Number(one.startToken),
      started_at: one.startedAt / 1000,
      task_id: one.owner,
      notify_on_complete: one.life.notify,
    },
  ]
}
