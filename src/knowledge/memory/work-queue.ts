import type { Clock } from "../../base/clock.ts"
import { errorMessage } from "../../base/system-error.ts"
import { isolated, withinTime } from "./bounded-call.ts"

/** Work that nobody waits for, one piece after the other, in the order in which it came. */
export interface WorkQueue {
  add(name: string, work: () => unknown): void
  /** When everything that was added is done or given up. */
  idle(): Promise<void>
  /** Gives up what runs, drops what waits and takes nothing new. */
  stop(): void
}

/** Beyond this the oldest piece is dropped: something hangs, and the newest matters most. */
const MAX_WAITING = 100

export function createWorkQueue(options: {
  readonly clock: Clock
  /** After this a piece is given up and the next one begins. */
  readonly limitMs: number
  readonly onProblem: (what: string) => void
}): WorkQueue {
  const { clock, limitMs, onProblem } = options
  const waiting: { readonly name: string; readonly work: () => unknown }[] = []
  const stop = new AbortController()
  let running: Promise<void> | undefined

  const runAll = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { name, work } = next
      const outcome = await withinTime(isolated(work), limitMs, { clock, signal: stop.signal })
      if (outcome.kind === "late") onProblem(`${name} was given up`)
      if (outcome.kind === "failed") onProblem(`${name} failed: ${errorMessage(outcome.error)}`)
    }
    running = undefined
  }

  return {
    add: (name, work) => {
      if (stop.signal.aborted) return
      waiting.push({ name, work })
      if (waiting.length > MAX_WAITING) onProblem(`${waiting.shift()?.name ?? ""} was dropped, because too much waits`)
      running ??= Promise.resolve().then(runAll)
    },
    idle: async () => {
      await running
    },
    stop: () => {
      waiting.length = 0
      stop.abort()
    },
  }
}
