import type { Message } from "../../protocol/message.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import { createUserNotes } from "../session/user-notes.ts"
import { createBackgroundTask } from "./background-task.ts"

/** Every few turns a copy of the agent reviews the conversation in the background and updates memory. */
export function reviewFacet(context: FacetContext): AppFacet | undefined {
  const { config, log } = context.services
  const interval = config.get("memory.nudge_interval")
  if (interval === 0) return undefined
  const task = createBackgroundTask("the background review", log)
  const notes = createUserNotes()
  let turns = 0
  return {
    name: "review",
    abilities: () => ({ userNotes: notes }),
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
        const { reviewConversation, memoryNote } = await import("./background-review.ts")
        const calls = await reviewConversation(result.messages, context, signal)
        const wanted = config.get("display.memory_notifications")
        const changesMemory = (name: string): boolean => tools.get(name)?.role === "memory"
        const note =
          wanted === "off" ? undefined : memoryNote(calls, { isVerbose: wanted === "verbose", changesMemory })
        if (note !== undefined) notes.add(note)
      })
    },
    close: () => task.stop(),
  }
}

function userMessages(history: readonly Message[]): number {
  return history.filter((message) => message.role === "user" && message.synthetic === undefined).length
}
