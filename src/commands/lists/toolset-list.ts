import type { HomeContext } from "../../admin/home-context.ts"
import { changeToolsets, listToolsets } from "../../admin/tools/toolset-settings.ts"
import { asSentence } from "../../base/sentence.ts"
import type { ChoiceList } from "../choice-list.ts"

/** The toolsets of new sessions. Choosing one enables or disables it. */
export function toolsetList(context: HomeContext): ChoiceList<string> {
  const isEnabled = async (name: string): Promise<boolean> =>
    (await listToolsets(context)).some((toolset) => toolset.name === name && toolset.enabled)
  return {
    title: "Toolsets of new sessions",
    hint: "Enter enables or disables it",
    load: async () => ({
      choices: (await listToolsets(context)).map(({ name, enabled, kind, tools }) => ({
        value: name,
        label: `${enabled ? "[x]" : "[ ]"} ${name}`,
        description: kind === "mcp" ? "tools of an MCP server" : tools.join(", "),
      })),
    }),
    select: async (name) => {
      const action = (await isEnabled(name)) ? "disable" : "enable"
      const [change] = await changeToolsets(context, [name], action)
      if (change?.outcome.ok === false) return { kind: "stay", note: asSentence(change.outcome.error) }
      return { kind: "back", note: `${name} is ${action}d in new sessions.` }
    },
  }
}
