import type { Logger } from "../../base/logger.ts"
import { errorMessage } from "../../base/system-error.ts"

/** Work that runs in the background of a session, one task at a time. A failure is logged. */
export interface BackgroundTask {
  /** Does nothing while an earlier one runs. */
  start(work: (signal: AbortSignal) => Promise<void>): void
  isRunning(): boolean
  /** Resolves when nothing runs. Never rejects. */
  settled(): Promise<void>
  /** Aborts the work and waits for its end. */
  stop(): Promise<void>
}

export function createBackgroundTask(name: string, log: Logger): BackgroundTask {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  const settled = (): Promise<void> => running ?? Promise.resolve()
  return {
    start: (work) => {
      if (running !== undefined || stopping.signal.aborted) return
      running = work(stopping.signal)
        .catch((error: unknown) => {
          log.warning(`${name} failed: ${errorMessage(error)}`)
        })
        .finally(() => {
          running = undefined
        })
    },
    isRunning: () => running !== undefined,
    settled,
    stop: async () => {
      stopping.abort()
      await settled()
    },
  }
}
