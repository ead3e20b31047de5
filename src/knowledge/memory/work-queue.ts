import type { Clock } from "../../base/clock.ts"
import { errorMessage } from "../../base/system-error.ts"
import { captureOutcome, withTimeout } from "./call-outcome.ts"

/** Runs background tasks one after another, in order. */
export interface WorkQueue {
  add(name: string, work: () => unknown): void
  /** Resolves when all tasks have finished or timed out. */
  idle(): Promise<void>
  /** Stops waiting for the running task, drops the others and accepts no new ones. */
  stop(): void
}

/** When more tasks wait, a task hangs. The oldest is then dropped, because the newest matters most. */
const MAX_QUEUED = 100

export function createWorkQueue(options: {
  readonly clock: Clock
  /** After this time the queue continues with the next task. */
  readonly timeoutMs: number
  readonly onProblem: (what: string) => void
}): WorkQueue {
  const { clock, timeoutMs, onProblem } = options
  const queued: { readonly name: string; readonly work: () => unknown }[] = []
  const stop = new AbortController()
  let running: Promise<void> | undefined

  const runAll = async (): Promise<void> => {
    for (let next = queued.shift(); next !== undefined; next = queued.shift()) {
      const { name, work } = next
      const outcome = await withTimeout(captureOutcome(work), timeoutMs, { clock, signal: stop.signal })
      if (outcome.kind === "timed-out") onProblem(`${name} timed out`)
      if (outcome.kind === "failed") onProblem(`${name} failed: ${errorMessage(outcome.error)}`)
    }
    running = undefined
  }

  return {
    add: (name, work) => {
      if (stop.signal.aborted) return
      queued.push({ name, work })
      if (queued.length > MAX_QUEUED) onProblem(`${queued.shift()?.name ?? ""} was dropped, because the queue is full`)
      running ??= Promise.resolve().then(runAll)
    },
    idle: async () => {
      await running
    },
    stop: () => {
      queued.length = 0
      stop.abort()
    },
  }
}
