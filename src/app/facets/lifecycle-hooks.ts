import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** Hooks of plugins and of the settings. Undefined, and nothing is loaded, when there are none. */
export async function lifecycleHooksFacet(context: FacetContext): Promise<AppFacet | undefined> {
  const { services, isPreview } = context
  if (isPreview || (services.plugins === undefined && !hasShellHooks(context))) return undefined
  const { createLifecycleHooks } = await import("../session/lifecycle-hooks.ts")
  return createLifecycleHooks(context)
}

function hasShellHooks({ services: { config, environment } }: FacetContext): boolean {
  if (environment.truthy("HERMES_SAFE_MODE")) return false
  return Object.keys(config.get("hooks")).length > 0 || config.get("hooks_claude_code")
}
