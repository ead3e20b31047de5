import { systemClock } from "../../base/clock.ts"

/** A clock that stands still while a question waits for the user: the duration of work does not contain the wait. */
export interface WorkingClock {
  /** In milliseconds; only differences have a meaning. */
  now(): number
  /** A question was opened or closed. */
  questionsChanged(): void
}

export function createWorkingClock(isAsking: () => boolean, clock = systemClock): WorkingClock {
  let waitedMs = 0
  let askedAt: number | undefined
  return {
    now: () => (askedAt ?? clock.now()) - waitedMs,
    questionsChanged: () => {
      if (isAsking()) askedAt ??= clock.now()
      else if (askedAt !== undefined) {
        waitedMs += clock.now() - askedAt
        askedAt = undefined
      }
    },
  }
}
