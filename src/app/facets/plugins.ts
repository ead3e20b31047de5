import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import type { PluginSession } from "../services/plugin-service.ts"

/** The tools and prompt sections of plugins. Undefined when no plugin is loaded. */
export function pluginsFacet(context: FacetContext): AppFacet | undefined {
  const { options, services, taskId } = context
  const { plugins } = services
  if (plugins === undefined) return undefined
  const { toolsets } = options
  const isWanted = (toolset: string): boolean =>
    toolsets === undefined || toolsets.some((name) => name === toolset || name === "all" || name === "*")
  const session: PluginSession = {
    taskId,
    dispatch: () => context.session().dispatch,
    auxiliary: context.auxiliary,
    deliversNotices: options.deliversNotices === true && options.child === undefined,
  }
  return {
    name: "plugins",
    openingWarnings: () => plugins.loaded.problems,
    tools: () => plugins.loaded.all().flatMap(({ tools }) => tools.filter(({ toolset }) => isWanted(toolset))),
    promptLayers: ({ style }) =>
      Promise.resolve(
        style === "lean"
          ? []
          : plugins.loaded
              .all()
              .flatMap(({ promptSections }) => promptSections)
              .map(({ id, text }) => ({ tier: "stable" as const, name: `plugin ${id}`, text })),
      ),
    opened: () => {
      if (options.child === undefined) plugins.sessionActive(session)
    },
    eventEmitted: ({ type }) => {
      if (type === "run-start" && options.child === undefined) plugins.sessionActive(session)
    },
    close: () => {
      plugins.sessionClosed(session)
      return Promise.resolve()
    },
  }
}
