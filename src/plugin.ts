/** The types for authors of plugins; the package exports them as `hermes-agent/plugin`. */
export type {
  PluginCapability,
  PluginCliCommand,
  PluginCommand,
  PluginCompletion,
  PluginCompletionResult,
  PluginContext,
  PluginContextEngine,
  PluginKind,
  PluginLogger,
  PluginManifest,
  PluginModelAccess,
  PluginModelProvider,
  PluginModule,
  PluginOutput,
  PluginTool,
  PluginToolContext,
  PluginToolResult,
  PluginVariable,
  RegisterPlugin,
} from "./plugins/contract.ts"
export type { HookCallback, HookEvent, HookPayload } from "./plugins/hooks/hook-events.ts"
export type { ContextEngine } from "./agent/context/context-engine.ts"
export type { MemoryProvider, MemoryProviderContext } from "./knowledge/memory/memory-provider.ts"
