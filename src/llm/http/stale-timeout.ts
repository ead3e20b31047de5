import { HttpTimeoutError } from "./http-connection.ts"

/** Aborts a request whose response brings no new frame for too long. The caller must call `stop` when it is done. */
export interface StaleTimeout {
  readonly signal: AbortSignal
  /** The reason of the abort; undefined while there was none. */
  readonly error: HttpTimeoutError | undefined
  /** Restarts the timeout because a frame arrived. */
  reset(): void
  stop(): void
}

/** Starts the timeout now; 0 means no limit. */
export function startStaleTimeout(ms: number): StaleTimeout {
  const controller = new AbortController()
  let error: HttpTimeoutError | undefined
  const giveUp = (): void => {
    error = new HttpTimeoutError(`no data arrived for ${ms / 1000} s`)
    controller.abort(error)
  }
  const timer = ms > 0 ? setTimeout(giveUp, ms) : undefined
  return {
    signal: controller.signal,
    get error() {
      return error
    },
    reset: () => {
      timer?.refresh()
    },
    stop: () => {
      clearTimeout(timer)
    },
  }
}
