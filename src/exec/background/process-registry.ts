import { isAbort } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { isSameProcess } from "../process-tree.ts"
import { createNoticeQueue } from "./notice-queue.ts"
import type { Notices } from "./notice-queue.ts"
import { openProcessFile } from "./process-file.ts"
import { completionNotice } from "./process-notices.ts"
import type { ProcessExit, ProcessView } from "./process-view.ts"
import {
  startTrackedProcess,
  exitOf,
  killRecoveredProcess,
  recoverProcess,
  processRecords,
  viewOf,
} from "./tracked-process.ts"
import type { ProcessStartOptions, TrackedProcess } from "./tracked-process.ts"

const MAX_TRACKED = 64
const FINISHED_KEPT_MS = 1_800_000
/** Poll interval for recovered processes: Hermes is not their parent, so the system does not report their exit. */
const RECOVERED_POLL_MS = 2000

export interface ProcessRegistryOptions {
  readonly clock: Clock
  /** `processes.json` of the home; several sessions and Hermes processes may share it. */
  readonly file: string
  readonly log: Logger
  readonly redact: (text: string) => string
  readonly newId?: () => string
}

export interface ProcessRegistry {
  /** Fails with a message for the model when the command cannot be started or too many processes are running. */
  start(options: ProcessStartOptions): Promise<Result<ProcessView>>
  /** Returns all processes, or those of one owner and those recovered after a restart. */
  list(owner?: string): readonly ProcessView[]
  peek(id: string): ProcessView | undefined
  /** Like `peek`, but marks the exit of the process as reported, so that no notice follows. */
  acknowledge(id: string): ProcessView | undefined
  wait(
    id: string,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<"exited" | "timeout" | "interrupted" | "not_found">
  /** Resolves when it has exited. The exit is not taken for reported. */
  exited(id: string): Promise<void>
  kill(id: string, source: string): Promise<"killed" | "already_exited" | "not_found">
  /** Kills everything that a session started and that still runs, here or in a Hermes process that was killed. */
  killOwned(owner: string, source: string): Promise<void>
  /** Returns false when its input is closed or not accessible. */
  write(id: string, data: string): boolean
  closeInput(id: string): boolean
  readonly notices: Notices
  /** Adopts the processes that a killed Hermes process has left behind. */
  recover(): Promise<void>
  /** Kills the processes it started and stops managing the recovered ones. */
  close(): Promise<void>
}

/** Creates the registry of background commands: their output, their exit and the notices about them. */
export function createProcessRegistry(options: ProcessRegistryOptions): ProcessRegistry {
  const { clock, log, redact, newId = () => `proc_${randomHex(6)}` } = options
  const closing = new AbortController()
  const notices = createNoticeQueue({ clock, signal: closing.signal })
  const tracked = new Map<string, TrackedProcess>()
  const unfinished = new Set<Promise<void>>()
  const file = openProcessFile(options, () => [...tracked.values()].flatMap(processRecords))
  let starting = 0
  let polling: Promise<void> | undefined
  /** Registers work that only `close` awaits. */
  const awaitOnClose = (work: Promise<void>): void => {
    const registered = work.finally(() => unfinished.delete(registered))
    unfinished.add(registered)
  }
  const finish = (process: TrackedProcess, exit: ProcessExit): void => {
    const { lifecycle } = process
    if (lifecycle.exit !== undefined) return
    lifecycle.exit = exit
    lifecycle.exitedAt = clock.now()
    if (lifecycle.waiters > 0) lifecycle.isReported = true
    process.done.resolve(undefined)
    if (lifecycle.notify && !lifecycle.isReported) {
      const isPending = (): boolean => !lifecycle.isReported
      const text = (): string | undefined => {
        if (lifecycle.isReported) return undefined
        lifecycle.isReported = true
        return redact(completionNotice(viewOf(process, clock.now()), exit))
      }
      notices.push({ owner: process.owner, isPending, text })
    }
    if (process.isOnHost) awaitOnClose(file.save())
  }
  const reconcile = (process: TrackedProcess): void => {
    if (process.lifecycle.exit !== undefined || process.handle !== undefined) return
    if (!isSameProcess({ pid: process.pid, startedAt: process.startToken })) finish(process, exitOf(process, undefined))
  }
  const find = (id: string): TrackedProcess | undefined => {
    const process = tracked.get(id)
    if (process !== undefined) reconcile(process)
    return process
  }
  const prune = (): void => {
    const now = clock.now()
    const ended = [...tracked.values()]
      .filter(({ lifecycle }) => lifecycle.exit !== undefined)
      .toSorted((a, b) => (a.lifecycle.exitedAt ?? 0) - (b.lifecycle.exitedAt ?? 0))
    for (const { id, lifecycle } of ended) {
      const isOld = now - (lifecycle.exitedAt ?? now) > FINISHED_KEPT_MS
      if (isOld || tracked.size + starting >= MAX_TRACKED) tracked.delete(id)
    }
  }
  const kill: ProcessRegistry["kill"] = async (id, source) => {
    const process = find(id)
    if (process === undefined) return "not_found"
    if (process.lifecycle.exit !== undefined) return "already_exited"
    process.lifecycle.killedBy = source
    process.lifecycle.isReported = true
    await (process.handle === undefined ? killRecoveredProcess(process, clock) : process.handle.kill())
    finish(process, exitOf(process, undefined))
    return "killed"
  }
  const pollRecoveredProcesses = async (): Promise<void> => {
    try {
      for (;;) {
        const open = [...tracked.values()].filter(
          ({ handle, lifecycle }) => handle === undefined && lifecycle.exit === undefined,
        )
        if (open.length === 0) return
        await clock.sleep(RECOVERED_POLL_MS, { signal: closing.signal })
        for (const process of open) reconcile(process)
      }
    } catch (error) {
      if (!isAbort(error)) throw error
    }
  }

  return {
    notices,
    start: async (startOptions) => {
      prune()
      if (tracked.size + starting >= MAX_TRACKED) {
        return fail(`${MAX_TRACKED} background processes are already running; kill one with the process tool first`)
      }
      starting += 1
      try {
        const started = await startTrackedProcess(startOptions, { id: newId(), clock, redact, notices })
        if (!started.ok) return started
        const process = started.value
        tracked.set(process.id, process)
        const ended = process.handle.exit.then(({ code }) => {
          finish(process, exitOf(process, code))
        })
        awaitOnClose(ended)
        if (process.isOnHost) await file.save()
        return ok(viewOf(process, clock.now()))
      } finally {
        starting -= 1
      }
    },
    list: (owner) => {
      prune()
      const all = [...tracked.values()].filter(
        (process) => owner === undefined || process.owner === owner || process.handle === undefined,
      )
      for (const process of all) reconcile(process)
      return all.map((process) => viewOf(process, clock.now()))
    },
    peek: (id) => {
      const process = find(id)
      return process === undefined ? undefined : viewOf(process, clock.now())
    },
    acknowledge: (id) => {
      const process = find(id)
      if (process?.lifecycle.exit !== undefined) process.lifecycle.isReported = true
      return process === undefined ? undefined : viewOf(process, clock.now())
    },
    wait: async (id, { timeoutMs, signal }) => {
      const process = find(id)
      if (process === undefined) return "not_found"
      if (process.lifecycle.exit !== undefined) return "exited"
      const enough = new AbortController()
      process.lifecycle.waiters += 1
      const outcome = await Promise.race([
        process.done.promise.then(() => "exited" as const),
        clock.sleep(timeoutMs, { signal: AbortSignal.any([signal, enough.signal]) }).then(
          () => "timeout" as const,
          () => "interrupted" as const,
        ),
      ])
      process.lifecycle.waiters -= 1
      enough.abort()
      return outcome
    },
    exited: async (id) => {
      await tracked.get(id)?.done.promise
    },
    kill,
    killOwned: async (owner, source) => {
      const owned = [...tracked.values()].filter((process) => process.owner === owner)
      await Promise.all(owned.map(async ({ id }) => await kill(id, source)))
    },
    write: (id, data) => find(id)?.handle?.write(data) ?? false,
    closeInput: (id) => find(id)?.handle?.closeInput() ?? false,
    recover: async () => {
      const orphans = file.orphans().filter((entry) => !tracked.has(entry.session_id))
      for (const process of orphans.map(recoverProcess)) {
        tracked.set(process.id, process)
        if (process.isOnHost)
          log.info(`recovered background process ${process.id} (pid ${process.pid}), which is still running`)
        else finish(process, exitOf(process, undefined))
      }
      if (orphans.length === 0) return
      await file.save()
      polling ??= pollRecoveredProcesses()
    },
    close: async () => {
      closing.abort()
      const running = [...tracked.values()].filter(({ lifecycle }) => lifecycle.exit === undefined)
      for (const { handle, lifecycle } of running) if (handle !== undefined) lifecycle.killedBy ??= "shutdown"
      await Promise.all(running.map(async ({ handle }) => await handle?.kill()))
      while (unfinished.size > 0) await Promise.allSettled(unfinished)
      await Promise.all([polling, notices.idle()])
    },
  }
}
