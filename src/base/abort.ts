/** Whether an error only means that a signal was aborted: an outcome, not a failure to report. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError")
}

/**
 * Resolves to the result of `work`, or to `undefined` as soon as the signal aborts. A rejection of `work` after the abort is
 * ignored.
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>()
  const onAbort = (): void => {
    resolve(undefined)
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener("abort", onAbort, { once: true })
  try {
    return await Promise.race([aborted, work])
  } finally {
    signal.removeEventListener("abort", onAbort)
  }
}
