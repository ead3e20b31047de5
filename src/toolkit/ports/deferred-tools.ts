import type { ToolDefinition } from "../../protocol/tool.ts"

/** The tools of the session that were not declared to the model; it finds and calls them through the bridges. */
export interface DeferredToolsPort {
  /** The names of all deferred tools, sorted. */
  names(): readonly string[]
  /** Best match first. The limit is clamped; its default is a setting. */
  search(query: string, limit?: number): readonly ToolDefinition[]
  find(name: string): ToolDefinition | undefined
}
