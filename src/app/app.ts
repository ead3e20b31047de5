import type { Clock } from "../base/clock.ts"
import type { Logger } from "../base/logger.ts"
import type { Redactor } from "../base/redact.ts"
import type { Result } from "../base/result.ts"
import { joinLayers } from "../agent/prompt/build-prompt.ts"
import type { PromptLayer } from "../agent/prompt/build-prompt.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load.ts"
import type { MemoryProvider } from "../knowledge/memory/provider.ts"
import type { ChosenModel, ModelChoiceFailure, ModelWish } from "../llm/choose-model.ts"
import type { ListedModel } from "../llm/catalog/model-list.ts"
import type { ModelRuntime } from "../llm/model.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { SessionStore } from "../state/store.ts"
import { builtinEntries } from "../toolkit/builtin-entries.ts"
import { createPrewarm } from "../llm/catalog/prewarm.ts"
import { createToolRegistry } from "../toolkit/registry.ts"
import { resolveToolset } from "../toolkit/toolsets.ts"
import { createFileRegistry } from "../tools/file/read-tracker.ts"
import { BUILTIN_TOOLS } from "../tools/builtins.ts"
import { TOOL_MANIFEST } from "../tools/manifest.generated.ts"
import { openSession } from "./open-session.ts"
import type { OpenSessionOptions, Shared } from "./session-options.ts"
import type { Session } from "./session.ts"
import { chooseFrom, findLocalModel, rememberModel } from "./model-sources.ts"
import type { LocalFind } from "./model-sources.ts"
import { rememberHint } from "./seen-hints.ts"
import type { Hint } from "./seen-hints.ts"
import { openMemory } from "./session-knowledge.ts"
import { layersFor } from "./session-prompt.ts"
import { divideTools, takeTools } from "./session-tools.ts"
import { createProcesses } from "./processes.ts"
import { createStores } from "./stores.ts"
import { openWorkspace } from "./session-workspace.ts"

/** The running system, built from one configuration. It owns what sessions share: tools, store, redaction, shutdown. */
export interface App {
  readonly config: Config
  readonly home: Home
  readonly clock: Clock
  readonly redactor: Redactor
  /** Opened on first use; rejects with a `StoreError` when the file cannot be used. */
  store(): Promise<SessionStore>
  chooseModel(wish: ModelWish): Result<ChosenModel, ModelChoiceFailure>
  /** What a model server nearby has to offer, `named` where it has that one; undefined when there is none. */
  findLocalModel(wanted: Parameters<typeof findLocalModel>[1]): Promise<LocalFind | undefined>
  /** Later sessions start with this model too. */
  rememberModel(runtime: ModelRuntime): Promise<Result<undefined>>
  /** Later sessions do not explain this again. */
  rememberHint(hint: Hint): Promise<void>
  /** The models of the place where a model is asked, fresh from there and kept for the next time. */
  refreshModels(chosen: ChosenModel, signal: AbortSignal): Promise<Result<readonly ListedModel[]>>
  openSession(options: OpenSessionOptions): Promise<Result<Session>>
  /** The prompt and tools a new session would get, without opening one. */
  previewPrompt(options: PromptPreviewOptions): Promise<PromptPreview>
  toolsetProblem(names: readonly string[]): ToolsetProblem
  close(): Promise<void>
  /** Kills what sessions still run, without waiting: for a process that must leave at once. */
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
  readonly memoryProviders?: readonly MemoryProvider[]
}

export interface PromptPreviewOptions {
  readonly cwd: string
  readonly platform: string
  readonly runtime: Pick<ModelRuntime, "provider" | "model" | "contextLength">
  readonly toolsets?: readonly string[]
}

export interface PromptPreview {
  readonly layers: readonly PromptLayer[]
  /** What the model is told about, and what it can look up. */
  readonly tools: readonly ToolDefinition[]
  readonly deferred: readonly ToolDefinition[]
}

export interface ToolsetProblem {
  readonly unknown: readonly string[]
  readonly anyKnown: boolean
}

export function createApp(options: AppOptions): App {
  const { config, clock } = options
  const registry = createToolRegistry({ clock, log: options.log })
  for (const entry of builtinEntries(TOOL_MANIFEST, BUILTIN_TOOLS)) registry.register(entry)
  const stores = createStores(options)
  const store = (): Promise<SessionStore> => stores.of(options.home)
  const processes = createProcesses(options)
  const prewarm = createPrewarm(options)
  const shared: Shared = {
    memoryProviders: [],
    ...options,
    registry,
    store,
    ...stores,
    processes,
    prewarm,
    files: createFileRegistry(),
    workspaces: new Set(),
  }

  return {
    config,
    home: options.home,
    clock,
    redactor: options.redactor,
    store,
    chooseModel: (wish) => chooseFrom(options, wish),
    findLocalModel: (wanted) => findLocalModel(options, wanted),
    rememberModel: (runtime) => rememberModel(options, runtime),
    rememberHint: (hint) => rememberHint(hint, options),
    refreshModels: async (chosen, signal) => {
      const { refreshModelList } = await import("../llm/catalog/refresh-list.ts")
      return await refreshModelList(chosen, { ...options, signal })
    },
    openSession: (session) => openSession(session, shared),
    previewPrompt: async (preview) => {
      const tools = await takeTools(preview.toolsets, shared)
      const place = await openWorkspace({ cwd: preview.cwd, signal: AbortSignal.timeout(PREVIEW_MS) }, shared)
      if (!place.ok) throw new Error(place.error)
      const workspace = place.value
      const { layers } = await layersFor(
        { ...preview, tools, workspace, sessionId: undefined, memory: openMemory(shared).snapshot(), learnings: [] },
        shared,
      )
      await workspace.close()
      const { contextLength } = preview.runtime
      const { declared, deferred } = divideTools(tools, { prompt: joinLayers(layers), contextLength }, shared)
      return { layers, tools: declared, deferred }
    },
    toolsetProblem: (names) => {
      const unknown = names.filter((name) => resolveToolset(name, { snapshot: registry.snapshot() }) === undefined)
      return { unknown, anyKnown: unknown.length < names.length }
    },
    close: async () => {
      prewarm.close()
      await processes.close()
      await stores.close((opened) => tidyUp(opened, shared))
    },
    abandon: () => {
      for (const workspace of shared.workspaces) workspace.abandon()
    },
  }
}

const PREVIEW_MS = 30_000

/** Old sessions are removed when the person is done, so that no start waits for it. */
async function tidyUp(store: SessionStore, { config, log }: Shared): Promise<void> {
  if (!config.get("sessions.auto_prune")) return
  const outcome = await store.autoPrune({
    olderThanDays: config.get("sessions.retention_days"),
    minIntervalHours: config.get("sessions.min_interval_hours"),
    vacuum: config.get("sessions.vacuum_after_prune"),
  })
  if (outcome.kind === "failed") log.warning(`old sessions could not be removed: ${outcome.message}`)
}
