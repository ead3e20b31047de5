import type { Clock } from "../../base/clock.ts"

/** The time limit of one call. It stands still while the server waits for the user or for a model. */
export interface CallTimer {
  readonly signal: AbortSignal
  readonly expired: boolean
  /** Runs work that does not count. */
  whilePaused<T>(work: () => Promise<T>): Promise<T>
  stop(): void
}

export function createCallTimer(limitMs: number, clock: Clock): CallTimer {
  const expiry = new AbortController()
  const stopped = new AbortController()
  let pauses = 0
  let pausedAt = 0
  let deadline = clock.now() + limitMs
  const wait = async (): Promise<void> => {
    for (let left = limitMs; left > 0; left = deadline - clock.now()) {
      await clock.sleep(left, { signal: stopped.signal })
      // A pause that is still open moves the deadline when it ends; look again a moment later.
      if (pauses > 0) deadline = clock.now() + PAUSE_CHECK_MS
    }
    expiry.abort()
  }
  wait().catch(() => undefined)
  return {
    signal: expiry.signal,
    get expired() {
      return expiry.signal.aborted
    },
    whilePaused: async (work) => {
      if (pauses === 0) pausedAt = clock.now()
      pauses += 1
      try {
        return await work()
      } finally {
        pauses -= 1
        if (pauses === 0) deadline += clock.now() - pausedAt
      }
    },
    stop: () => {
      stopped.abort()
    },
  }
}

const PAUSE_CHECK_MS = 1000
