import type { HomeContext } from "../../admin/home-context.ts"
import { setPluginEnabled } from "../../admin/plugins/change-plugin.ts"
import { findPlugin, listPlugins, type ListedPlugin } from "../../admin/plugins/list-plugins.ts"
import { asSentence } from "../../base/sentence.ts"
import type { ChoiceList, Selection } from "../choice-list.ts"

/** The plugins. Choosing one enables or disables it. */
export function pluginList(
  context: HomeContext,
  where: { readonly version: string; readonly cwd: string },
): ChoiceList<string> {
  return {
    title: "Plugins",
    hint: "Enter enables or disables it; a new session uses the change",
    emptyText: "There are no plugins. `hermes plugins install` installs one.",
    load: async () => {
      const { plugins, problems } = await listPlugins(context, where)
      const choices = plugins.map(({ plugin, name, state }) => ({
        value: plugin.key,
        label: `${state.kind === "enabled" ? "[x]" : "[ ]"} ${name}`,
        ...(state.kind === "unusable" ? { description: state.reason } : {}),
        details: [plugin.source],
        group: isExclusive(plugin) ? "One of these at most" : "Plugins",
      }))
      return problems.length === 0 ? { choices } : { choices, note: problems.join(" ") }
    },
    select: async (key): Promise<Selection<string>> => {
      const listed = findPlugin(await listPlugins(context, where), key)
      if (listed === undefined) return { kind: "back", note: `${key} is not installed any more.` }
      if (listed.state.kind === "unusable") return { kind: "stay", note: asSentence(listed.state.reason) }
      const enables = listed.state.kind !== "enabled"
      const changed = await setPluginEnabled(context, listed, enables)
      if (!changed.ok) return { kind: "stay", note: asSentence(changed.error.message) }
      const done = `${listed.name} is ${enables ? "enabled" : "disabled"}.`
      const note = enables && isExclusive(listed.plugin) ? `${done} ${selectIt(listed.name)}` : done
      return { kind: "back", note }
    },
  }
}

function isExclusive({ content }: ListedPlugin["plugin"]): boolean {
  return content.kind === "plugin" && content.manifest.kind === "exclusive"
}

function selectIt(name: string): string {
  return `Only one plugin of its kind is active: set memory.provider or context.engine to ${name}.`
}
