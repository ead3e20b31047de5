import { MAX_PARALLEL_CALLS, mayRunTogether } from "../../toolkit/parallel-plan.ts"
import type { PlannedCall } from "../../toolkit/parallel-plan.ts"

/** Starts calls in the order in which they arrive, each as soon as it conflicts with none that runs. */
export interface CallQueue {
  run<T>(call: PlannedCall, work: () => Promise<T>): Promise<T>
}

export function createCallQueue(): CallQueue {
  const running = new Set<PlannedCall>()
  const waiting: { readonly call: PlannedCall; readonly start: () => void }[] = []
  const startNext = (): void => {
    for (let [next] = waiting; next !== undefined; [next] = waiting) {
      const { call } = next
      const isFree = running.size < MAX_PARALLEL_CALLS && [...running].every((other) => mayRunTogether(call, other))
      if (!isFree) return
      waiting.shift()
      running.add(call)
      next.start()
    }
  }
  return {
    run: async (call, work) => {
      const turn = Promise.withResolvers<undefined>()
      waiting.push({
        call,
        start: () => {
          turn.resolve(undefined)
        },
      })
      startNext()
      await turn.promise
      try {
        return await work()
      } finally {
        running.delete(call)
        startNext()
      }
    },
  }
}
