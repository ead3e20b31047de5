import { HttpTimeoutError } from "./http.ts"

/** Ends a request whose answer brings nothing new for too long. `stop` must be called when the answer is read or given up. */
export interface SilenceWatch {
  readonly signal: AbortSignal
  /** Why the signal was given; undefined while nothing was too long. */
  readonly error: HttpTimeoutError | undefined
  /** Something new has arrived: the wait begins again. */
  heard(): void
  stop(): void
}

/** Watches from now on; 0 ms never ends anything. */
export function watchSilence(ms: number): SilenceWatch {
  const over = new AbortController()
  let error: HttpTimeoutError | undefined
  const giveUp = (): void => {
    error = new HttpTimeoutError(`nothing new arrived for ${ms / 1000} s`)
    over.abort(error)
  }
  const timer = ms > 0 ? setTimeout(giveUp, ms) : undefined
  return {
    signal: over.signal,
    get error() {
      return error
    },
    heard: () => {
      timer?.refresh()
    },
    stop: () => {
      clearTimeout(timer)
    },
  }
}
