import type { MemoryProvider } from "../knowledge/memory/memory-provider.ts"
import type { ToolEntry } from "../toolkit/tool.ts"
import type {
  PluginCliCommand,
  PluginCommand,
  PluginContextEngine,
  PluginModelProvider,
  PluginTool,
} from "./contract.ts"
import type { HookListener } from "./hooks/hook-runner.ts"

/** What one plugin has registered. */
export interface Contributions {
  readonly tools: ToolEntry[]
  readonly overrides: { readonly tool: PluginTool; readonly plugin: string }[]
  readonly promptSections: { readonly id: string; readonly text: string }[]
  readonly listeners: HookListener[]
  readonly commands: PluginCommand[]
  readonly cliCommands: PluginCliCommand[]
  readonly memoryProviders: MemoryProvider[]
  readonly contextEngines: PluginContextEngine[]
  readonly modelProviders: PluginModelProvider[]
  readonly disposers: (() => Promise<void> | void)[]
}

export function noContributions(): Contributions {
  return {
    tools: [],
    overrides: [],
    promptSections: [],
    listeners: [],
    commands: [],
    cliCommands: [],
    memoryProviders: [],
    contextEngines: [],
    modelProviders: [],
    disposers: [],
  }
}
