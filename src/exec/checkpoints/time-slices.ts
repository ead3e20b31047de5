import { setImmediate as nextTick } from "node:timers/promises"

/** Divides long work into slices, so that it does not block the event loop. */
export interface TimeSlices {
  /** Whether the current slice has lasted long enough. */
  isOver(): boolean
  /** Lets other work run, then starts the next slice. Rejects when the signal has aborted. */
  next(): Promise<void>
}

const SLICE_MS = 5

export function createTimeSlices(signal: AbortSignal): TimeSlices {
  let start = performance.now()
  return {
    isOver: () => performance.now() - start > SLICE_MS,
    next: async () => {
      await nextTick()
      signal.throwIfAborted()
      start = performance.now()
    },
  }
}
