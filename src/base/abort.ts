/** Whether an error only says that a signal was aborted: an outcome, not something to report. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError")
}

/**
 * A promise that settles with `work`, or as soon as the signal aborts with `undefined`, whichever comes first. Work that fails
 * after an abort is nobody's business any more, so its late rejection is taken care of here.
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
