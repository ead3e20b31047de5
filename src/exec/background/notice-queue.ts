import type { Clock } from "../../base/clock.ts"
import { isAbort } from "../../base/abort.ts"

/** Notices for the agent about background processes; each is delivered once. */
export interface Notices {
  /** Removes and returns the next notice, or the next one of an owner. The caller must deliver it. */
  take(owner?: string): string | undefined
  /** Resolves when `take` would return a notice, or when the signal aborts. Never rejects. */
  waitForOne(signal: AbortSignal, owner?: string): Promise<void>
}

interface Notice {
  readonly owner: string
  /** Returns undefined when the agent has received the information by other means since. */
  readonly text: () => string | undefined
  readonly isPending: () => boolean
}

/** Limit for the matches of all processes together: after this many within the window, matches are held back. */
const BREAKER_COUNT = 15
const BREAKER_WINDOW_MS = 10_000
const BREAKER_COOLDOWN_MS = 30_000

export interface NoticeQueue extends Notices {
  push(notice: Notice): void
  /** Adds a watch pattern match, unless matches are currently held back. */
  pushMatch(owner: string, text: string): void
  /** Resolves when no cooldown is running; aborting the queue's signal ends the cooldown. */
  idle(): Promise<void>
}

export function createNoticeQueue({
  clock,
  signal,
}: {
  readonly clock: Clock
  readonly signal: AbortSignal
}): NoticeQueue {
  let queue: readonly Notice[] = []
  let recent: readonly number[] = []
  let heldBack: number | undefined
  let cooldown: Promise<void> = Promise.resolve()
  const waiters = new Set<() => void>()

  const push = (notice: Notice): void => {
    queue = [...queue, notice]
    for (const wake of waiters) wake()
  }
  const pushText = (owner: string, text: string): void => {
    push({ owner, text: () => text, isPending: () => true })
  }
  const has = (owner: string | undefined): boolean =>
    queue.some((notice) => (owner === undefined || notice.owner === owner) && notice.isPending())

  const holdBack = (owner: string): void => {
    heldBack = 1
    pushText(
      owner,
      `[IMPORTANT: Background processes report too many watch pattern matches. Further matches are held back for ${BREAKER_COOLDOWN_MS / 1000} s.]`,
    )
    cooldown = clock.sleep(BREAKER_COOLDOWN_MS, { signal }).then(
      () => {
        pushText(owner, `[IMPORTANT: Watch pattern matches are reported again; ${heldBack ?? 0} were held back.]`)
        heldBack = undefined
        recent = []
      },
      (error: unknown) => {
        if (!isAbort(error)) throw error
      },
    )
  }

  return {
    push,
    pushMatch: (owner, text) => {
      if (heldBack !== undefined) {
        heldBack += 1
        return
      }
      const now = clock.now()
      recent = [...recent.filter((time) => now - time < BREAKER_WINDOW_MS), now]
      if (recent.length > BREAKER_COUNT) holdBack(owner)
      else pushText(owner, text)
    },
    idle: async () => {
      await cooldown
    },
    take: (owner) => {
      for (const notice of queue) {
        if (owner !== undefined && notice.owner !== owner) continue
        queue = queue.filter((other) => other !== notice)
        const text = notice.text()
        if (text !== undefined) return text
      }
      return undefined
    },
    waitForOne: async (stop, owner) => {
      while (!stop.aborted && !has(owner)) {
        const { promise, resolve } = Promise.withResolvers<undefined>()
        const wake = (): void => {
          resolve(undefined)
        }
        waiters.add(wake)
        stop.addEventListener("abort", wake, { once: true })
        await promise
        waiters.delete(wake)
        stop.removeEventListener("abort", wake)
      }
    },
  }
}
