import type { Clock } from "../../base/clock.ts"

/** The outcome of a call to third-party code. */
export type CallOutcome<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "timed-out" }

/** Waits for a call until `ms` have passed or the signal aborts. A call that times out keeps running in the background. */
export async function withTimeout<T>(
  call: Promise<CallOutcome<T>>,
  ms: number,
  { clock, signal }: { readonly clock: Clock; readonly signal?: AbortSignal },
): Promise<CallOutcome<T>> {
  const timer = new AbortController()
  const stop = signal === undefined ? timer.signal : AbortSignal.any([timer.signal, signal])
  const timedOut = (): CallOutcome<T> => ({ kind: "timed-out" })
  // The sleep rejects when the call has finished or the signal aborts.
  const timeout = clock.sleep(ms, { signal: stop }).then(timedOut, timedOut)
  try {
    return await Promise.race([call, timeout])
  } finally {
    timer.abort()
  }
}

/** Runs the call and returns its outcome. Never rejects, even when the call throws synchronously. */
export async function captureOutcome<T>(call: () => T | Promise<T>): Promise<CallOutcome<T>> {
  try {
    return { kind: "done", value: await call() }
  } catch (error) {
    return { kind: "failed", error }
  }
}
