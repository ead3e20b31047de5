import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** Lets the user start tasks that work in sessions of their own. Nothing is loaded before the first one. */
export function backgroundTasksFacet(context: FacetContext): AppFacet | undefined {
  if (context.options.deliversNotices !== true) return undefined
  return {
    name: "background tasks",
    abilities: () => ({
      startTask: async (prompt) => {
        const { startTask } = await import("../session/start-task.ts")
        return await startTask(prompt, context)
      },
    }),
  }
}
