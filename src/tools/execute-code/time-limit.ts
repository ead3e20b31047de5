import type { CallToolPort } from "../../toolkit/ports/call-tool.ts"

/** Ends a script that runs too long. */
export interface TimeLimit {
  /** Aborts when the time is up. */
  readonly signal: AbortSignal
  clear(): void
}

/** Counts only the time in which no question waits for the user: how long a user takes says nothing about the script. */
export function startTimeLimit(milliseconds: number, { onUserWait }: Pick<CallToolPort, "onUserWait">): TimeLimit {
  const expired = new AbortController()
  let remaining = milliseconds
  let running: { readonly timer: NodeJS.Timeout; readonly since: number } | undefined
  const resume = (): void => {
    running ??= {
      timer: setTimeout(() => {
        expired.abort()
      }, remaining),
      since: performance.now(),
    }
  }
  const pause = (): void => {
    if (running === undefined) return
    clearTimeout(running.timer)
    remaining = Math.max(0, remaining - (performance.now() - running.since))
    running = undefined
  }
  resume()
  const unwatch = onUserWait((isWaiting) => {
    if (isWaiting) pause()
    else resume()
  })
  return {
    signal: expired.signal,
    clear: () => {
      unwatch()
      pause()
    },
  }
}
