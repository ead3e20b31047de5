import type { Clock } from "../../base/clock.ts"

/** How a call of somebody else's code went. */
export type CallOutcome<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "late" }

/** Waits for the call no longer than `ms`, nor beyond the signal. A late call goes on; it cannot reject. */
export async function withinTime<T>(
  call: Promise<CallOutcome<T>>,
  ms: number,
  { clock, signal }: { readonly clock: Clock; readonly signal?: AbortSignal },
): Promise<CallOutcome<T>> {
  const timer = new AbortController()
  const stop = signal === undefined ? timer.signal : AbortSignal.any([timer.signal, signal])
  const isLate = (): CallOutcome<T> => ({ kind: "late" })
  // The sleep rejects when it is stopped: the call was in time, or nobody wants to wait any more.
  const late = clock.sleep(ms, { signal: stop }).then(isLate, isLate)
  try {
    return await Promise.race([call, late])
  } finally {
    timer.abort()
  }
}

/** Starts the call now. The promise never rejects, whether the code throws at once or later. */
export async function isolated<T>(call: () => T | Promise<T>): Promise<CallOutcome<T>> {
  try {
    return { kind: "done", value: await call() }
  } catch (error) {
    return { kind: "failed", error }
  }
}
