import { hasSpilled } from "../../agent/dispatch/result-retention.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** Removes old files of tool results that were too long to send. */
export function resultFilesFacet({ workspace, services: { clock, log }, session }: FacetContext): AppFacet | undefined {
  const { removeOld } = workspace.results
  if (removeOld === undefined) return undefined
  return {
    name: "result files",
    close: async () => {
      if (!hasSpilled(session().conversation.history)) return
      const removed = await removeOld(clock.now())
      if (removed > 0) log.info(`removed ${removed} old result files`)
    },
  }
}
