import { resolve } from "node:path"

import { errorMessage } from "../../base/system-error.ts"
import type { EndedTurn } from "../../agent/facet.ts"
import { contentText } from "../../protocol/message.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** Saves each run as training data. */
export function trajectoryFacet(context: FacetContext): AppFacet | undefined {
  const { config, log } = context.services
  const isOn = context.options.saveTrajectories ?? config.get("agent.save_trajectories")
  if (!isOn || context.isPreview) return undefined
  let saving = Promise.resolve()
  return {
    name: "trajectory",
    afterTurn: (turn) => {
      saving = saving
        .then(() => save(turn, context))
        .catch((error: unknown) => {
          log.warning(`saving the trajectory failed: ${errorMessage(error)}`)
        })
    },
    close: () => saving,
  }
}

async function save({ input, end }: EndedTurn, context: FacetContext): Promise<void> {
  const { clock, log } = context.services
  const { appendTrajectory, toTrajectory } = await import("../../agent/trajectory.ts")
  const { result, outcome } = end
  const saved = await appendTrajectory(
    directoryFor(context),
    toTrajectory({
      messages: result.messages,
      tools: context.session().allTools,
      // The conversation may have begun in an earlier run.
      userQuery: contentText(result.messages.find(({ role }) => role === "user")?.content ?? input),
      model: result.model,
      completed: outcome === "completed" && result.partial !== true,
      now: clock.now(),
    }),
  )
  if (!saved.ok) log.warning(saved.error)
}

function directoryFor({ services: { config, home }, options }: FacetContext): string {
  const setting = config.get("agent.trajectory_directory")
  if (setting === "") return home.file("trajectories")
  return resolve(options.cwd, setting.replace(/^~(?=\/|$)/u, home.userHome))
}
