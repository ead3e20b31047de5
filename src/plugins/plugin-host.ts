import type { PluginCompletion, PluginCompletionResult } from "./contract.ts"

/** What the running app does for plugins. Absent until a session is open. */
export interface PluginHost {
  dispatchTool(plugin: string, name: string, args: Readonly<Record<string, unknown>>): Promise<string>
  injectMessage(plugin: string, text: string): boolean
  complete(plugin: string, request: PluginCompletion): Promise<PluginCompletionResult>
}
