import type { Clock } from "../../base/clock.ts"

/** Stops calling a server that keeps failing, so that each further call does not have to wait for its own timeout. */
export interface CircuitBreaker {
  /** Seconds until the next attempt; 0 when a call may go ahead. After the pause, one call is let through as a probe. */
  secondsUntilNextCall(): number
  succeeded(): void
  failed(): void
}

const FAILURES_TO_OPEN = 3
const PAUSE_MS = 60_000

export function createCircuitBreaker(clock: Clock): CircuitBreaker {
  let failures = 0
  let openUntil = 0
  let probing = false
  return {
    secondsUntilNextCall: () => {
      if (failures < FAILURES_TO_OPEN) return 0
      const left = openUntil - clock.now()
      if (left > 0) return Math.ceil(left / 1000)
      if (probing) return 1
      probing = true
      return 0
    },
    succeeded: () => {
      failures = 0
      probing = false
    },
    failed: () => {
      failures += 1
      probing = false
      if (failures >= FAILURES_TO_OPEN) openUntil = clock.now() + PAUSE_MS
    },
  }
}
