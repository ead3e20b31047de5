import { hasSpilled, removeOldResults } from "../../agent/dispatch/result-retention.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** Removes old files of tool results that were too long to send. */
export function resultFilesFacet({ workspace, services: { clock, log }, session }: FacetContext): AppFacet | undefined {
  // Remote workspaces are left alone: each file costs a round trip, and they clean up their temporary files themselves.
  if (workspace.kind !== "local") return undefined
  return {
    name: "result files",
    close: async () => {
      if (!hasSpilled(session().conversation.history)) return
      const removed = await removeOldResults(workspace.files, clock.now())
      if (removed > 0) log.info(`removed ${removed} old result files`)
    },
  }
}
