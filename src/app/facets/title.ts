import { orAborted } from "../../base/abort.ts"
import { contentText } from "../../protocol/message.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import { createBackgroundTask } from "./background-task.ts"

/** How long closing waits for a title that is being generated. */
const CLOSE_MS = 1500
/** A title that could not be generated after the first exchange is tried once more. */
const MAX_ATTEMPTS = 2

/** Names the conversation after its first exchange, while the next turn may already run. */
export function titleFacet({ options, services, auxiliary, session }: FacetContext): AppFacet | undefined {
  if (options.generateTitle !== true || options.resume !== undefined) return undefined
  const task = createBackgroundTask("generating a title", services.log)
  let isDone = false
  let attempts = 0
  return {
    name: "title",
    afterTurn: ({ input, end: { outcome, result } }) => {
      const answer = result.finalResponse
      if (outcome === "interrupted" || answer === null || isDone || task.isRunning() || attempts >= MAX_ATTEMPTS) return
      attempts += 1
      task.start(async (signal) => {
        const { generateTitle } = await import("./generate-title.ts")
        const title = await generateTitle({ user: contentText(input), assistant: answer }, auxiliary, signal)
        if (title === undefined) return
        isDone = true
        await session().journal.retitle(title)
      })
    },
    close: async () => {
      await orAborted(task.settled(), AbortSignal.timeout(CLOSE_MS))
      await task.stop()
    },
  }
}
