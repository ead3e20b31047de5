import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { discoverPlugins } from "../../plugins/discover.ts"
import type { FoundPlugin } from "../../plugins/discover.ts"
import { pluginFolders } from "../../plugins/plugin-folders.ts"
import { selectPlugin } from "../../plugins/select.ts"
import type { PluginState } from "../../plugins/select.ts"

/** A plugin as `hermes plugins list` shows it. None of its code has run. */
export interface ListedPlugin {
  readonly plugin: FoundPlugin
  readonly name: string
  readonly state: PluginState
}

export interface PluginList {
  readonly plugins: readonly ListedPlugin[]
  /** Folders that could not be read, as sentences. */
  readonly problems: readonly string[]
}

export async function listPlugins(
  context: HomeContext,
  { version, cwd }: { readonly version: string; readonly cwd: string },
): Promise<PluginList> {
  const { config, environment, home } = await loadHome(context)
  const { plugins, problems } = discoverPlugins(pluginFolders({ home, environment, config, cwd }))
  return {
    problems,
    plugins: plugins.map((plugin) => ({
      plugin,
      name: nameOf(plugin),
      state: selectPlugin(plugin, { home, config, environment, version }),
    })),
  }
}

export function findPlugin(list: PluginList, name: string): ListedPlugin | undefined {
  return list.plugins.find((listed) => listed.plugin.key === name || listed.name === name)
}

function nameOf({ key, content }: FoundPlugin): string {
  return "manifest" in content && content.manifest !== undefined ? content.manifest.name : key
}
