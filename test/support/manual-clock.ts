import type { Clock } from "../../src/base/clock.ts"
import { systemClock } from "../../src/base/clock.ts"

/** A clock that advances only when the test advances it. */
export interface ManualClock extends Clock {
  /** Advances the time, wakes the sleepers in order and lets each of them continue before the next. */
  advance(ms: number): Promise<void>
  /** When the next sleeper wakes up; undefined when there is none. */
  nextWakeTime(): number | undefined
}

export function manualClock(start = systemClock.now()): ManualClock {
  let now = start
  const sleepers = new Set<Sleeper>()
  const nextSleeper = (): Sleeper | undefined => [...sleepers].toSorted((a, b) => a.until - b.until)[0]
  return {
    now: () => now,
    sleep: async (ms, { signal }) => {
      signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const sleeper = { until: now + ms, wake: () => resolve() }
      const abort = (): void => reject(signal.reason)
      sleepers.add(sleeper)
      signal.addEventListener("abort", abort, { once: true })
      try {
        await promise
      } finally {
        sleepers.delete(sleeper)
        signal.removeEventListener("abort", abort)
      }
    },
    advance: async (ms) => {
      const end = now + ms
      for (let next = nextSleeper(); next !== undefined && next.until <= end; next = nextSleeper()) {
        now = Math.max(now, next.until)
        sleepers.delete(next)
        next.wake()
        await pendingCallbacks()
      }
      now = end
      await pendingCallbacks()
    },
    nextWakeTime: () => nextSleeper()?.until,
  }
}

interface Sleeper {
  readonly until: number
  readonly wake: () => void
}

/** Lets every callback run that waits for nothing but the event loop. */
async function pendingCallbacks(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
