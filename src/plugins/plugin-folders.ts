import { join } from "node:path"

import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load-config.ts"
import type { PluginFolders } from "./discover.ts"

/** Where plugins are searched for. Those of the project only when the user has allowed it for this process. */
export function pluginFolders(source: {
  readonly home: Home
  readonly environment: Environment
  readonly config: Config
  readonly cwd: string
}): PluginFolders {
  const { home, environment, config, cwd } = source
  const bundled = environment.get("HERMES_BUNDLED_PLUGINS") ?? ""
  return {
    bundled: bundled === "" ? undefined : bundled,
    user: home.file("plugins"),
    project: environment.truthy("HERMES_ENABLE_PROJECT_PLUGINS") ? join(cwd, ".hermes", "plugins") : undefined,
    packages: config.get("plugins.packages"),
    packageRoot: home.file("plugins"),
  }
}
