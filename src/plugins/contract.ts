import type { ContextEngine, EngineModel } from "../agent/context/context-engine.ts"
import type { MemoryProvider } from "../knowledge/memory/memory-provider.ts"
import type { Usage } from "../protocol/usage.ts"
import type { Access, JsonSchema, Parallel, Subject } from "../protocol/tool.ts"
import type { HookCallback, HookEvent } from "./hooks/hook-events.ts"

/** The module of a plugin: `export default` or a named export `register`, and optionally `deactivate`. */
export interface PluginModule {
  readonly default?: RegisterPlugin
  readonly register?: RegisterPlugin
  /** Called when Hermes exits; has 5 seconds. */
  readonly deactivate?: () => Promise<void> | void
}

/** Has 10 seconds. When it throws or takes longer, everything it registered is removed. */
export type RegisterPlugin = (context: PluginContext) => Promise<void> | void

export type PluginKind = "standalone" | "backend" | "exclusive" | "platform" | "model-provider"

/** What a plugin may use. A manifest that lists none may use everything that needs no capability. */
export type PluginCapability =
  | "tools"
  | "hooks"
  | "middleware"
  | "commands"
  | "cli"
  | "llm"
  | "inject"
  | "dispatch"
  | "platform"
  | "network-listen"

export interface PluginManifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly kind: PluginKind
  readonly author?: string | undefined
  readonly license?: string | undefined
  readonly homepage?: string | undefined
  /** The module, relative to the folder of the plugin. */
  readonly main?: string
  /** The range of Hermes versions that it works with. */
  readonly hermes?: string
  /** Without these variables the plugin is not loaded. */
  readonly requiresEnv: readonly PluginVariable[]
  readonly optionalEnv: readonly PluginVariable[]
  /** What the manifest says that the plugin registers, by kind: `tools`, `hooks`, `commands` … */
  readonly provides: Readonly<Record<string, readonly string[]>>
  readonly capabilities: readonly PluginCapability[]
  /** JSON Schema for `plugins.entries.<name>.config`. */
  readonly configSchema?: JsonSchema
}

export interface PluginVariable {
  readonly name: string
  readonly description: string
  readonly secret: boolean
  /** Where the user gets the value. */
  readonly url?: string
}

/** What Hermes passes to `register`. Calling a member whose capability the manifest does not list throws. */
export interface PluginContext {
  readonly manifest: PluginManifest
  readonly logger: PluginLogger
  readonly hermesHome: string
  /** A private directory for the plugin's data. */
  readonly dataDir: string
  /** `plugins.entries.<name>.config` of the settings, valid for `config_schema`. */
  readonly config: Readonly<Record<string, unknown>>
  /** With `override`, `run` replaces what a built-in tool does. Its parameters and permissions stay those of the built-in tool. */
  registerTool(tool: PluginTool, options?: { readonly override?: boolean }): void
  /** Adds a fixed text of at most 2000 characters to the system prompt of new sessions. */
  registerPromptSection(section: { readonly id: string; readonly text: string }): void
  registerHook(event: HookEvent, callback: HookCallback): void
  registerCommand(command: PluginCommand): void
  registerCliCommand(command: PluginCliCommand): void
  registerMemoryProvider(provider: MemoryProvider): void
  registerContextEngine(engine: PluginContextEngine): void
  registerModelProvider(provider: PluginModelProvider): void
  /** Runs a tool like a call of the model: permissions, hooks and limits apply, and nobody is asked. Needs an open session. */
  dispatchTool(name: string, args: Readonly<Record<string, unknown>>): Promise<string>
  /** Sends a message to the model in the current session, marked as not written by the user. False without an interactive session. */
  injectMessage(text: string, role?: string): boolean
  readonly llm: PluginModelAccess
  /** Called when the plugin is unloaded. */
  onDispose(dispose: () => Promise<void> | void): void
}

export interface PluginLogger {
  debug(message: string): void
  info(message: string): void
  warning(message: string): void
  error(message: string): void
}

export interface PluginTool {
  /** 1 to 64 letters, digits and underscores. */
  readonly name: string
  /** Default: the name of the plugin. */
  readonly toolset?: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly input: JsonSchema
  /** What a call does. Without it, each call needs approval, and plan mode refuses it. */
  readonly access?: Access | ((args: Readonly<Record<string, unknown>>) => Access)
  /** What permission rules match. Default: the name of the tool. */
  readonly subject?: (args: Readonly<Record<string, unknown>>) => Subject | readonly Subject[]
  /** What the user sees while it runs. Default: the arguments. */
  readonly preview?: (args: Readonly<Record<string, unknown>>) => string
  readonly parallel?: Parallel
  readonly maxResultChars?: number
  readonly idempotent?: boolean
  /** Where its results come from. Default `mcp`: text of another program that the model must not obey. */
  readonly provenance?: "web" | "mcp" | "file" | "command"
  run(args: Readonly<Record<string, unknown>>, context: PluginToolContext): Promise<PluginToolResult> | PluginToolResult
}

/** A string, or an object that is sent to the model as JSON; `{ error: "…" }` marks a failure. */
export type PluginToolResult = string | Readonly<Record<string, unknown>>

export interface PluginToolContext {
  /** Aborts when the user interrupts. */
  readonly signal: AbortSignal
  readonly sessionId: string
  readonly taskId: string
  /** The working directory of the session. */
  readonly cwd: string
  /** Shows live output to the user; the model does not get it. */
  progress(text: string): void
}

/** A slash command. The returned text is shown to the user; null shows nothing. */
export interface PluginCommand {
  readonly name: string
  readonly description?: string
  readonly argsHint?: string
  readonly handler: (args: string) => Promise<string | null> | string | null
}

/** `hermes <name>` */
export interface PluginCliCommand {
  readonly name: string
  readonly help: string
  /** Returns the exit code; nothing means 0. */
  readonly run: (args: readonly string[], output: PluginOutput) => Promise<number | void> | number | void
}

export interface PluginOutput {
  line(text: string): void
  errorLine(text: string): void
}

/** Selected by the setting `context.engine`. `create` is called once per session. */
export interface PluginContextEngine {
  readonly name: string
  create(session: { readonly model: EngineModel }): ContextEngine
}

/** A server with models, used as `provider: <name>`. */
export interface PluginModelProvider {
  readonly name: string
  readonly baseUrl: string
  /** The variable with the key. The manifest must list it in `requires_env` or `optional_env`. */
  readonly keyEnv?: string
  /** `chat_completions`, `anthropic_messages`, `codex_responses` or `gemini_native`. Default: detected. */
  readonly apiMode?: string
  readonly defaultModel?: string
  readonly contextLength?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Requests to the user's model. The plugin never gets a key. At most 60 calls per minute. */
export interface PluginModelAccess {
  complete(request: PluginCompletion): Promise<PluginCompletionResult>
  /** The answer as JSON; `parsed` is undefined when it is not JSON. */
  completeStructured(
    request: PluginCompletion & { readonly jsonSchema?: JsonSchema },
  ): Promise<PluginCompletionResult & { readonly parsed: unknown; readonly content_type: "json" | "text" }>
}

export interface PluginCompletion {
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: string }[]
  readonly systemPrompt?: string
  readonly temperature?: number
  readonly maxTokens?: number
  /** For the log. */
  readonly purpose?: string
  /** Need `plugins.entries.<name>.llm.allow_provider_override` and `allow_model_override`. */
  readonly provider?: string
  readonly model?: string
  readonly signal?: AbortSignal
}

export interface PluginCompletionResult {
  readonly text: string
  readonly provider: string
  readonly model: string
  readonly usage: Usage
  readonly audit: { readonly plugin: string; readonly purpose: string }
}
