import type { Clock } from "../base/clock.ts"
import type { Logger } from "../base/logger.ts"
import type { Redactor } from "../base/redact.ts"
import type { Result } from "../base/result.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load-config.ts"
import { orAborted } from "../base/abort.ts"
import { createLocalMachine } from "../exec/local/local-machine.ts"
import type { MemoryProvider } from "../knowledge/memory/memory-provider.ts"
import type { ChosenModel, ModelChoiceFailure, ModelSelection } from "../llm/choose-model.ts"
import type { ListedModel } from "../llm/catalog/model-list.ts"
import type { SessionStore } from "../state/store.ts"
import { builtinEntries } from "../toolkit/builtin-entries.ts"
import { createIdleSockets } from "../llm/http/idle-sockets.ts"
import { createModelListPrewarm } from "../llm/catalog/prewarm-model-list.ts"
import { createToolRegistry } from "../toolkit/registry.ts"
import { resolveToolset } from "../toolkit/toolsets.ts"
import { createFileRegistry } from "../tools/file/tracking/file-tracker.ts"
import { BUILTIN_TOOLS } from "../tools/builtins.ts"
import { TOOL_MANIFEST } from "../tools/manifest.generated.ts"
import { openSession } from "./session/open-session.ts"
import type { Services } from "./services/services.ts"
import type { OpenSessionOptions } from "./session/session-options.ts"
import type { Session } from "./session/session.ts"
import { chooseModelFor, findLocalModel, rememberModel } from "./services/model-sources.ts"
import type { LocalFind } from "./services/model-sources.ts"
import { rememberHint } from "./services/onboarding-hints.ts"
import type { Hint } from "./services/onboarding-hints.ts"
import { CHILD_FACETS, FACETS } from "./facets/facet-list.ts"
import { createAuditFile } from "./permissions/audit-log.ts"
import type { FacetFactory } from "./session/facet-context.ts"
import { openWorkingDirectory } from "./session/open-working-directory.ts"
import type { WorkingDirectory, WorkingDirectoryRequest } from "./session/working-directory.ts"
import type { PromptPreview, PromptPreviewOptions } from "./session/preview-prompt.ts"
import { createBackgroundTasks } from "./services/background-tasks.ts"
import type { BackgroundTasks } from "./services/background-tasks.ts"
import { createBackgroundChecks } from "./services/background-checks.ts"
import { createSandboxedPrograms } from "./services/sandboxed-programs.ts"
import { createBackgroundProcesses } from "./services/background-processes.ts"
import type { BackgroundProcesses } from "./services/background-processes.ts"
import { createMcpService } from "./services/mcp-servers.ts"
import type { McpReload } from "./services/mcp-servers.ts"
import type { PluginService } from "./services/plugin-service.ts"
import { overriddenByPlugin } from "./services/overridden-tool.ts"
import type { PluginCliCommand, PluginCommand } from "../plugins/contract.ts"
import { createPendingWrites } from "./services/pending-writes.ts"
import { createCommandNotices } from "./services/command-notices.ts"
import { createInterruptedChecks } from "./services/interrupted-checks.ts"
import { createSubAgents } from "./services/sub-agents.ts"
import type { SubAgents } from "./services/sub-agents.ts"
import { createStores } from "./services/stores.ts"

/** The running system, built from one configuration. It owns what its sessions share. */
export interface App {
  readonly config: Config
  readonly home: Home
  /** The variables of the process and of `.env`. */
  readonly environment: Environment
  readonly clock: Clock
  readonly log: Logger
  readonly redactor: Redactor
  readonly version: string
  /** Opened on first use; rejects with a `StoreError` when the file cannot be used. */
  store(): Promise<SessionStore>
  chooseModel(selection: ModelSelection): Result<ChosenModel, ModelChoiceFailure>
  /** The models of a local model server, or the `named` one; undefined when no server runs. */
  findLocalModel(wanted: Parameters<typeof findLocalModel>[1]): Promise<LocalFind | undefined>
  /** Makes this model the default of later sessions. */
  rememberModel(chosen: ChosenModel): Promise<Result<undefined>>
  /** Records that a hint was shown, so that it is not shown again. */
  rememberHint(hint: Hint): Promise<void>
  /** Requests the model list of the endpoint and caches it. */
  refreshModels(chosen: ChosenModel, signal: AbortSignal): Promise<Result<readonly ListedModel[]>>
  /** Chooses or creates the directory that a conversation works in. Fails with a sentence that names the fix. */
  openWorkingDirectory(request: WorkingDirectoryRequest): Promise<Result<WorkingDirectory>>
  openSession(options: OpenSessionOptions): Promise<Result<Session>>
  /** The prompt and tools a new session would get, without opening one. */
  previewPrompt(options: PromptPreviewOptions): Promise<PromptPreview>
  /** Reads the settings of the MCP servers again and connects to all of them. */
  reloadMcp(signal: AbortSignal): Promise<McpReload>
  toolsetProblem(names: readonly string[]): ToolsetProblem
  /** The toolsets that have tools, with them. */
  toolsets(): readonly ToolsetTools[]
  /** Reads `.env` again. What is chosen later uses the new values. */
  reloadEnvironment(): EnvironmentReload
  /** The slash commands of plugins. */
  pluginCommands(): readonly PluginCommand[]
  /** Their commands of the command line. */
  pluginCliCommands(): readonly PluginCliCommand[]
  /** The sub-agents of all sessions. */
  readonly subAgents: Pick<SubAgents, "isPaused" | "setPaused" | "pauseBranch" | "tree" | "stop" | "stopAll" | "steer">
  /** The tasks that the user has started in the background. */
  readonly backgroundTasks: Omit<BackgroundTasks, "add" | "close">
  /** The background processes of all sessions. */
  readonly processes: Pick<BackgroundProcesses, "open" | "running" | "list" | "survivors">
  /** What checks after commands found and no run has shown, for the user. Call it when the sessions are closed. */
  takeCommandNotices(): readonly string[]
  close(): Promise<void>
  /** Kills everything that sessions still run, without waiting. For a process that must exit at once. */
  abandon(): void
}

export interface AppOptions {
  readonly config: Config
  readonly environment: Environment
  readonly home: Home
  readonly clock: Clock
  readonly log: Logger
  readonly redactor: Redactor
  readonly version: string
  /** Reads `.env` into `environment` again. Default: nothing is read. */
  readonly reloadEnvironment?: () => EnvironmentReload
  readonly memoryProviders?: readonly MemoryProvider[]
  readonly plugins?: PluginService
  /** Further capabilities of each session, after the built-in ones. */
  readonly facets?: readonly FacetFactory[]
}

export interface EnvironmentReload {
  /** How many variables have other values now. */
  readonly changed: number
  /** For the user. */
  readonly warnings: readonly string[]
}

export interface ToolsetTools {
  readonly name: string
  readonly tools: readonly string[]
}

export interface ToolsetProblem {
  readonly unknown: readonly string[]
  readonly anyKnown: boolean
}

export function createApp(options: AppOptions): App {
  const { config, clock } = options
  const registry = createToolRegistry({ log: options.log })
  for (const entry of builtinEntries(TOOL_MANIFEST, BUILTIN_TOOLS)) registry.register(entry)
  const stores = createStores(options)
  const store = (): Promise<SessionStore> => stores.of(options.home)
  const processes = createBackgroundProcesses(options)
  const mcp = createMcpService(options)
  const prewarm = createModelListPrewarm(options)
  const facets = [...FACETS, ...(options.facets ?? [])]
  const childFacets = [...CHILD_FACETS, ...(options.facets ?? [])]
  const subAgents = createSubAgents()
  const backgroundTasks = createBackgroundTasks(options)
  const { plugins } = options
  const contributed = plugins?.loaded.all() ?? []
  for (const { tool, plugin } of contributed.flatMap(({ overrides }) => overrides)) {
    const builtin = registry.get(tool.name)
    if (builtin !== undefined) registry.register(overriddenByPlugin(builtin, { tool, plugin }))
  }
  const commandNotices = createCommandNotices(options)
  const services: Services = {
    ...options,
    startedMs: Date.now(),
    memoryProviders: [
      ...(options.memoryProviders ?? []),
      ...contributed.flatMap(({ memoryProviders }) => memoryProviders),
    ],
    registry,
    store,
    ...stores,
    processes,
    mcp,
    prewarm,
    subAgents,
    backgroundTasks,
    openTask: (task) => openSession(task, services, facets),
    openChild: (child) => openSession(child, services, childFacets),
    pendingWrites: createPendingWrites(),
    audit: createAuditFile(options),
    files: createFileRegistry(),
    machine: createLocalMachine(),
    commandNotices,
    backgroundChecks: createBackgroundChecks(),
    sandboxedPrograms: createSandboxedPrograms(),
    interruptedChecks: createInterruptedChecks({
      ...options,
      notices: commandNotices,
      path: options.environment.get("PATH") ?? "",
    }),
    idleSockets: createIdleSockets(),
    workspaces: new Set(),
    conversations: new Set(),
  }

  return {
    config,
    home: options.home,
    environment: options.environment,
    clock,
    log: options.log,
    redactor: options.redactor,
    version: options.version,
    store,
    chooseModel: (selection) => chooseModelFor(options, selection),
    findLocalModel: (wanted) => findLocalModel(options, wanted),
    rememberModel: (chosen) => rememberModel(options, chosen),
    rememberHint: (hint) => rememberHint(hint, options),
    refreshModels: async (chosen, signal) => {
      const { refreshModelList } = await import("../llm/catalog/refresh-model-list.ts")
      return await refreshModelList(chosen, { ...options, signal })
    },
    openWorkingDirectory: (request) => openWorkingDirectory(request, services),
    openSession: (session) => openSession(session, services, facets),
    previewPrompt: async (preview) => {
      const { previewPrompt } = await import("./session/preview-prompt.ts")
      return await previewPrompt(preview, services, facets)
    },
    reloadMcp: async (signal) => {
      const { loadConfig } = await import("../config/load-config.ts")
      return await mcp.reload(await loadConfig(options), signal)
    },
    toolsetProblem: (names) => {
      const servers = mcp.names().flatMap((name) => [name, `mcp-${name}`])
      const unknown = names.filter(
        (name) =>
          !servers.includes(name) &&
          !contributed.some(({ tools }) => tools.some(({ toolset }) => toolset === name)) &&
          resolveToolset(name, { snapshot: registry.snapshot() }) === undefined,
      )
      return { unknown, anyKnown: unknown.length < names.length }
    },
    toolsets: () => {
      const added = contributed.flatMap(({ tools }) => tools)
      const byToolset = Map.groupBy([...registry.snapshot().tools.values(), ...added], ({ toolset }) => toolset)
      return Array.from(byToolset, ([name, tools]) => ({
        name,
        tools: tools.map((tool) => tool.name).toSorted(),
      })).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    },
    reloadEnvironment: () => options.reloadEnvironment?.() ?? { changed: 0, warnings: [] },
    subAgents,
    backgroundTasks,
    processes,
    pluginCliCommands: () => plugins?.loaded.all().flatMap(({ cliCommands }) => cliCommands) ?? [],
    pluginCommands: () => plugins?.loaded.all().flatMap(({ commands }) => commands) ?? [],
    takeCommandNotices: () => {
      const texts = services.commandNotices.take()
      services.commandNotices.shown()
      return texts
    },
    close: async () => {
      prewarm.close()
      await backgroundTasks.close()
      await subAgents.close()
      await Promise.all([processes.close(), mcp.close(), plugins?.close()])
      await orAborted(services.backgroundChecks.settled(), AbortSignal.timeout(MAX_CHECKING_MS))
      services.machine.dispose()
      await services.pendingWrites.settled()
      services.audit.flush()
      await stores.close((opened) => pruneSessions(opened, services))
      await plugins?.release()
    },
    abandon: () => {
      for (const workspace of services.workspaces) workspace.abandon()
      mcp.kill()
      services.audit.flush()
      services.machine.dispose()
    },
  }
}

/** What is not checked by then is checked by the next start. */
const MAX_CHECKING_MS = 3000

/** Removes old sessions at exit, so that no start waits for it. */
async function pruneSessions(store: SessionStore, { config, log }: Services): Promise<void> {
  if (!config.get("sessions.auto_prune")) return
  const outcome = await store.autoPrune({
    olderThanDays: config.get("sessions.retention_days"),
    minIntervalHours: config.get("sessions.min_interval_hours"),
    vacuum: config.get("sessions.vacuum_after_prune"),
  })
  if (outcome.kind === "failed") log.warning(`old sessions could not be removed: ${outcome.message}`)
}
