import { setTimeout as delay } from "node:timers/promises"

/** Time as a parameter, so that a test never waits and never depends on the wall clock. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Waits; rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, options: { readonly signal: AbortSignal }): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, { signal }) => {
    await delay(ms, undefined, { signal })
  },
}

/** The database and the wire formats count in seconds (REAL), the code in milliseconds. */
export function epochSeconds(clock: Clock): number {
  return clock.now() / 1000
}
