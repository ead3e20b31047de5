/** Time stamps of files come from a clock that advances with the ticks of the kernel. */
export const CLOCK_TICK_MS = 20

/**
 * Whether a directory that is read now will have another time of change after its next change. One in the same tick would have the same
 * time, and file systems with coarse times have whole milliseconds or seconds.
 */
export function showsNextChange(changedMs: number, nowMs = Date.now()): boolean {
  return nowMs - changedMs > CLOCK_TICK_MS && !Number.isInteger(changedMs)
}
