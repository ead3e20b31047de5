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
import type { ProcessEnd, ProcessView } from "./process-view.ts"
import { beginProcess, endOf, killFoundProcess, processFoundAgain, storedProcess, viewOf } from "./tracked-process.ts"
import type { StartProcess, Tracked } from "./tracked-process.ts"

const MAX_TRACKED = 64
const FINISHED_KEPT_MS = 1_800_000
/** How often processes are looked at whose end nobody tells us. */
const FOUND_CHECK_MS = 2000

export interface ProcessRegistryOptions {
  readonly clock: Clock
  /** `processes.json` of the home; several sessions and several Hermes may share it. */
  readonly file: string
  readonly log: Logger
  readonly redact: (text: string) => string
  readonly newId?: () => string
}

export interface ProcessRegistry {
  /** Fails with a sentence when it cannot be started or too many run. */
  start(options: StartProcess): Promise<Result<ProcessView>>
  /** Those of one owner, and those found again after a restart. */
  list(owner?: string): readonly ProcessView[]
  peek(id: string): ProcessView | undefined
  /** As `peek`, but looking at a process that has ended counts as having been told: there will be no notice. */
  look(id: string): ProcessView | undefined
  wait(
    id: string,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<"exited" | "timeout" | "interrupted" | "not_found">
  kill(id: string, source: string): Promise<"killed" | "already_exited" | "not_found">
  /** False when its input is closed or out of reach. */
  write(id: string, data: string): boolean
  closeInput(id: string): boolean
  readonly notices: Notices
  /** Finds the processes again that a Hermes which was killed has left. */
  recover(): Promise<void>
  /** Kills what it started and stops looking after the rest. */
  close(): Promise<void>
}

/** Commands that go on beside the conversation: what they said, how they ended, and who must be told. */
export function createProcessRegistry(options: ProcessRegistryOptions): ProcessRegistry {
  const { clock, log, redact, newId = () => `proc_${randomHex(6)}` } = options
  const closing = new AbortController()
  const notices = createNoticeQueue({ clock, signal: closing.signal })
  const tracked = new Map<string, Tracked>()
  const unfinished = new Set<Promise<void>>()
  const file = openProcessFile(options, () => [...tracked.values()].flatMap(storedProcess))
  let starting = 0
  let checking: Promise<void> | undefined

  /** Work that nobody waits for now; `close` does. */
  const keep = (work: Promise<void>): void => {
    const kept = work.finally(() => unfinished.delete(kept))
    unfinished.add(kept)
  }
  const finish = (one: Tracked, end: ProcessEnd): void => {
    const { life } = one
    if (life.end !== undefined) return
    life.end = end
    life.endedAt = clock.now()
    if (life.waiters > 0) life.told = true
    one.done.resolve(undefined)
    if (life.notify && !life.told) {
      const isStillNews = (): boolean => !life.told
      const text = (): string | undefined => {
        if (life.told) return undefined
        life.told = true
        return redact(completionNotice(viewOf(one, clock.now()), end))
      }
      notices.push({ owner: one.owner, isStillNews, text })
    }
    if (one.isOnHost) keep(file.save())
  }
  const reconcile = (one: Tracked): void => {
    if (one.life.end !== undefined || one.handle !== undefined) return
    if (!isSameProcess({ pid: one.pid, startedAt: one.startToken })) finish(one, endOf(one, undefined))
  }
  const find = (id: string): Tracked | undefined => {
    const one = tracked.get(id)
    if (one !== undefined) reconcile(one)
    return one
  }
  const prune = (): void => {
    const now = clock.now()
    const ended = [...tracked.values()]
      .filter(({ life }) => life.end !== undefined)
      .toSorted((a, b) => (a.life.endedAt ?? 0) - (b.life.endedAt ?? 0))
    for (const { id, life } of ended) {
      const isOld = now - (life.endedAt ?? now) > FINISHED_KEPT_MS
      if (isOld || tracked.size + starting >= MAX_TRACKED) tracked.delete(id)
    }
  }
  const checkFoundProcesses = async (): Promise<void> => {
    try {
      for (;;) {
        const open = [...tracked.values()].filter(({ handle, life }) => handle === undefined && life.end === undefined)
        if (open.length === 0) return
        await clock.sleep(FOUND_CHECK_MS, { signal: closing.signal })
        for (const one of open) reconcile(one)
      }
    } catch (error) {
      if (!isAbort(error)) throw error
    }
  }

  return {
    notices,
    start: async (wanted) => {
      prune()
      if (tracked.size + starting >= MAX_TRACKED) {
        return fail(`${MAX_TRACKED} background processes are running already; end one with the process tool first`)
      }
      starting += 1
      try {
        const begun = await beginProcess(wanted, { id: newId(), clock, redact, notices })
        if (!begun.ok) return begun
        const one = begun.value
        tracked.set(one.id, one)
        const ended = one.handle.exit.then(({ code }) => {
          finish(one, endOf(one, code))
        })
        keep(ended)
        if (one.isOnHost) await file.save()
        return ok(viewOf(one, clock.now()))
      } finally {
        starting -= 1
      }
    },
    list: (owner) => {
      prune()
      const all = [...tracked.values()].filter(
        (one) => owner === undefined || one.owner === owner || one.handle === undefined,
      )
      for (const one of all) reconcile(one)
      return all.map((one) => viewOf(one, clock.now()))
    },
    peek: (id) => {
      const one = find(id)
      return one === undefined ? undefined : viewOf(one, clock.now())
    },
    look: (id) => {
      const one = find(id)
      if (one?.life.end !== undefined) one.life.told = true
      return one === undefined ? undefined : viewOf(one, clock.now())
    },
    wait: async (id, { timeoutMs, signal }) => {
      const one = find(id)
      if (one === undefined) return "not_found"
      if (one.life.end !== undefined) return "exited"
      const enough = new AbortController()
      one.life.waiters += 1
      const outcome = await Promise.race([
        one.done.promise.then(() => "exited" as const),
        clock.sleep(timeoutMs, { signal: AbortSignal.any([signal, enough.signal]) }).then(
          () => "timeout" as const,
          () => "interrupted" as const,
        ),
      ])
      one.life.waiters -= 1
      enough.abort()
      return outcome
    },
    kill: async (id, source) => {
      const one = find(id)
      if (one === undefined) return "not_found"
      if (one.life.end !== undefined) return "already_exited"
      one.life.killedBy = source
      one.life.told = true
      await (one.handle === undefined ? killFoundProcess(one, clock) : one.handle.kill())
      finish(one, endOf(one, undefined))
      return "killed"
    },
    write: (id, data) => find(id)?.handle?.write(data) ?? false,
    closeInput: (id) => find(id)?.handle?.closeInput() ?? false,
    recover: async () => {
      const orphans = file.orphans().filter((entry) => !tracked.has(entry.session_id))
      for (const one of orphans.map(processFoundAgain)) {
        tracked.set(one.id, one)
        if (one.isOnHost) log.info(`background process ${one.id} (pid ${one.pid}) still runs and was found again`)
        else finish(one, endOf(one, undefined))
      }
      if (orphans.length === 0) return
      await file.save()
      checking ??= checkFoundProcesses()
    },
    close: async () => {
      closing.abort()
      const running = [...tracked.values()].filter(({ life }) => life.end === undefined)
      for (const { handle, life } of running) if (handle !== undefined) life.killedBy ??= "shutdown"
      await Promise.all(running.map(async ({ handle }) => await handle?.kill()))
      while (unfinished.size > 0) await Promise.allSettled(unfinished)
      await Promise.all([checking ?? Promise.resolve(), notices.idle()])
    },
  }
}
