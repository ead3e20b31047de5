import type { Environment } from "../config/environment.ts"
import type { Config } from "../config/load-config.ts"

/** Whether the settings can cause a plugin to be loaded. When not, no folder is read. */
export function mayHavePlugins(config: Config, environment: Environment): boolean {
  if (environment.truthy("HERMES_SAFE_MODE")) return false
  return (
    config.get("plugins.enabled").length > 0 ||
    config.get("memory.provider") !== "" ||
    config.get("context.engine") !== "compressor" ||
    (environment.get("HERMES_BUNDLED_PLUGINS") ?? "") !== ""
  )
}
