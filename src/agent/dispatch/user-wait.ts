import type { Clock } from "../../base/clock.ts"
import type { Interactions } from "../interactions.ts"

/** The questions that one call can ask. */
export type CallInteractions = Pick<Interactions, "nextId" | "wait" | "watch">

/** The interactions of a call, and how long it has waited for the user: that is not part of its duration. */
export interface MeasuredInteractions {
  readonly interactions: CallInteractions
  readonly waitedMs: () => number
}

export function measureUserWait(interactions: CallInteractions, clock: Clock): MeasuredInteractions {
  let open = 0
  let openedAt = 0
  let waitedMs = 0
  return {
    waitedMs: () => waitedMs + (open > 0 ? clock.now() - openedAt : 0),
    interactions: {
      nextId: (prefix) => interactions.nextId(prefix),
      watch: (changed) => interactions.watch(changed),
      wait: async (request, signal) => {
        // The calls of a script may ask at the same time; that time counts once.
        if (open === 0) openedAt = clock.now()
        open += 1
        try {
          return await interactions.wait(request, signal)
        } finally {
          open -= 1
          if (open === 0) waitedMs += clock.now() - openedAt
        }
      },
    },
  }
}
