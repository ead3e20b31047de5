import type { PluginTool } from "../../plugins/contract.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"

/** A built-in tool whose code comes from a plugin. It is loaded with the first call. */
export function overriddenByPlugin(
  builtin: ToolEntry,
  { tool, plugin }: { readonly tool: PluginTool; readonly plugin: string },
): ToolEntry {
  return {
    ...builtin,
    source: { kind: "plugin", plugin },
    load: async () => {
      const { overriddenEntry } = await import("../../plugins/plugin-tool.ts")
      return await overriddenEntry(builtin, tool, plugin).load()
    },
  }
}
