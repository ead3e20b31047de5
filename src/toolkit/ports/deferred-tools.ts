import type { ToolDefinition } from "../../protocol/tool.ts"

/** The tools of the session that its model was not told about at the start; it finds and calls them through the bridges. */
export interface DeferredToolsPort {
  /** All of them, sorted. */
  names(): readonly string[]
  /** Best first; the limit is put into its bounds, and absent it is the setting. */
  search(query: string, limit?: number): readonly ToolDefinition[]
  find(name: string): ToolDefinition | undefined
}
