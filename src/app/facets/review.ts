import type { Message } from "../../protocol/message.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import { createBackgroundTask } from "./background-task.ts"

/** Every few turns a copy of the agent reviews the conversation in the background and updates memory. */
export function reviewFacet(context: FacetContext): AppFacet | undefined {
  const { config, log } = context.services
  const interval = config.get("memory.nudge_interval")
  if (interval === 0) return undefined
  const task = createBackgroundTask("the background review", log)
  let turns = 0
  return {
    name: "review",
    opened: () => {
      turns = userMessages(context.session().conversation.history)
    },
    beforeTurn: () => {
      turns += 1
      return Promise.resolve(undefined)
    },
    afterTurn: ({ end: { outcome, result } }) => {
      if (outcome === "interrupted" || turns % interval !== 0) return
      const { tools } = context.session().dispatch
      if (![...tools.values()].some(({ role }) => role === "memory")) return
      task.start(async (signal) => {
        const { reviewConversation } = await import("./background-review.ts")
        await reviewConversation(result.messages, context, signal)
      })
    },
    close: () => task.stop(),
  }
}

function userMessages(history: readonly Message[]): number {
  return history.filter((message) => message.role === "user" && message.synthetic === undefined).length
}
