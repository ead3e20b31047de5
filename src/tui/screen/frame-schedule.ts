import type { Clock } from "../../base/clock.ts"

/** Decides when frames are drawn. Between frames no timer runs. */
export interface FrameSchedule {
  request(when: "now" | "soon"): void
  /** Draws the next frame after this time, and none before. */
  postpone(ms: number): void
  cancel(): void
}

/** At most 30 frames per second, except for frames that answer a key. */
const FRAME_MS = 34

export function createFrameSchedule(clock: Clock, draw: () => void): FrameSchedule {
  let immediate: NodeJS.Immediate | undefined
  let cancelTimer: (() => void) | undefined
  let lastFrame = Number.NEGATIVE_INFINITY
  let postponed = false
  const cancel = (): void => {
    clearImmediate(immediate)
    immediate = undefined
    cancelTimer?.()
    cancelTimer = undefined
    postponed = false
  }
  const run = (): void => {
    cancel()
    lastFrame = clock.now()
    draw()
  }
  return {
    request: (when) => {
      if (immediate !== undefined || postponed) return
      const passed = clock.now() - lastFrame
      // A clock that was set back must not stop the frames.
      if (when === "now" || passed >= FRAME_MS || passed < 0) immediate = setImmediate(run)
      else cancelTimer ??= callLater(clock, FRAME_MS - passed, run)
    },
    postpone: (ms) => {
      cancel()
      postponed = true
      cancelTimer = callLater(clock, ms, run)
    },
    cancel,
  }
}

/** Calls the function after a delay, unless the returned function is called before. */
export function callLater(clock: Clock, ms: number, call: () => void): () => void {
  const controller = new AbortController()
  clock.sleep(ms, { signal: controller.signal }).then(
    () => {
      if (!controller.signal.aborted) call()
    },
    (error: unknown) => {
      if (!controller.signal.aborted) throw error
    },
  )
  return () => controller.abort()
}
