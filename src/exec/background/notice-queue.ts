import type { Clock } from "../../base/clock.ts"
import { isAbort } from "../../base/abort.ts"

/** What the agent must be told about background processes, each notice once. */
export interface Notices {
  /** The next one, or the next of one owner; undefined when there is none. It is gone then: whoever takes it delivers it. */
  take(owner?: string): string | undefined
  /** Resolves when `take` would give something, or when the signal aborts. Never rejects. */
  waitForOne(signal: AbortSignal, owner?: string): Promise<void>
}

interface Notice {
  readonly owner: string
  /** Undefined when the agent has learned it in another way meanwhile. */
  readonly text: () => string | undefined
  readonly isStillNews: () => boolean
}

/** All processes together: this many reports of matches in this time, then silence for a while. */
const BREAKER_COUNT = 15
const BREAKER_WINDOW_MS = 10_000
const BREAKER_COOLDOWN_MS = 30_000

export interface NoticeQueue extends Notices {
  push(notice: Notice): void
  /** A report of a match; held back while there are too many of them. */
  pushMatch(owner: string, text: string): void
  /** Resolves when nothing is waited for any more; `signal` ends the waiting. */
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
  let release: Promise<void> = Promise.resolve()
  const waiting = new Set<() => void>()

  const push = (notice: Notice): void => {
    queue = [...queue, notice]
    for (const wake of waiting) wake()
  }
  const pushText = (owner: string, text: string): void => {
    push({ owner, text: () => text, isStillNews: () => true })
  }
  const has = (owner: string | undefined): boolean =>
    queue.some((notice) => (owner === undefined || notice.owner === owner) && notice.isStillNews())

  const trip = (owner: string): void => {
    heldBack = 1
    pushText(
      owner,
      `[IMPORTANT: Background processes report too many watch pattern matches. Further matches are held back for ${BREAKER_COOLDOWN_MS / 1000} s.]`,
    )
    release = clock.sleep(BREAKER_COOLDOWN_MS, { signal }).then(
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
      if (recent.length > BREAKER_COUNT) trip(owner)
      else pushText(owner, text)
    },
    idle: async () => {
      await release
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
        waiting.add(wake)
        stop.addEventListener("abort", wake, { once: true })
        await promise
        waiting.delete(wake)
        stop.removeEventListener("abort", wake)
      }
    },
  }
}
