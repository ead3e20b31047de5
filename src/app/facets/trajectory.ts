import { errorMessage } from "../../base/system-error.ts"
import type { EndedTurn } from "../../agent/facet.ts"
import { contentText } from "../../protocol/message.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** Writes each run as training data. */
export function trajectoryFacet(context: FacetContext): AppFacet | undefined {
  const directory = context.options.saveTrajectories
  if (directory === undefined) return undefined
  const { log } = context.services
  let saving = Promise.resolve()
  return {
    name: "trajectory",
    afterTurn: (turn) => {
      saving = saving
        .then(() => save(turn, directory, context))
        .catch((error: unknown) => {
          log.warning(`saving the trajectory failed: ${errorMessage(error)}`)
        })
    },
    close: () => saving,
  }
}

async function save({ input, end }: EndedTurn, directory: string, context: FacetContext): Promise<void> {
  const { clock, log } = context.services
  const { appendTrajectory, toTrajectory } = await import("../../agent/trajectory.ts")
  const { result, outcome } = end
  const saved = await appendTrajectory(
    directory,
    toTrajectory({
      messages: result.messages,
      tools: context.session().allTools,
      userQuery: contentText(input),
      model: result.model,
      completed: outcome === "completed",
      now: clock.now(),
    }),
  )
  if (!saved.ok) log.warning(saved.error)
}
