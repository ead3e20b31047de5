import type { Clock } from "../base/clock.ts"
import { DEFAULT_IDENTITY, promptLayers } from "../agent/prompt/build-prompt.ts"
import type { PromptLayer } from "../agent/prompt/build-prompt.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load.ts"
import type { Workspace } from "../exec/workspace.ts"
import { findContextFiles } from "../knowledge/context-files.ts"
import type { ContextFile } from "../knowledge/read-context-file.ts"
import type { MemorySnapshot } from "../knowledge/memory/memory-store.ts"
import { NEARBY_FILES } from "../knowledge/nearby-files.ts"
import { readSoul } from "../knowledge/soul-file.ts"
import { findProvider } from "../llm/providers.ts"
import type { ModelRuntime } from "../llm/model.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { ToolDefinition } from "../protocol/tool.ts"

interface PromptSources {
  readonly config: Config
  readonly environment: Environment
  readonly home: Home
  readonly clock: Clock
}

export interface LayerRequest {
  readonly platform: string
  readonly runtime: Pick<ModelRuntime, "provider" | "model" | "contextLength">
  readonly tools: readonly ToolDefinition[]
  readonly workspace: Workspace
  readonly sessionId: SessionId | undefined
  /** What memory holds when the session begins. */
  readonly memory: MemorySnapshot
  readonly externalMemory?: string
  readonly learnings: readonly string[]
  readonly aboutPlace?: string
}

export interface PromptDraft {
  readonly layers: readonly PromptLayer[]
  /** For the person: a rules file that was cut, blocked or could not be read. */
  readonly warnings: readonly string[]
}

/** The system prompt of a new session, layer by layer, from what the home, the project and the settings say. */
export async function layersFor(request: LayerRequest, sources: PromptSources): Promise<PromptDraft> {
  const { config, environment, home, clock } = sources
  const { provider, model, contextLength } = request.runtime
  const [rules, workspace, introspection] = await Promise.all([
    projectRules(request, sources),
    request.workspace.describe(),
    introspect(request, sources),
  ])
  const soul = readSoul(home.file("SOUL.md"), {
    maxChars: config.get("context_file_max_chars"),
    unchanged: DEFAULT_IDENTITY,
  })
  const layers = promptLayers({
    soul: soul.text,
    style: config.get("agent.prompt_style"),
    platform: request.platform,
    workspace,
    environmentHint: [
      request.aboutPlace ?? "",
      environment.get("HERMES_ENVIRONMENT_HINT") ?? config.get("agent.environment_hint"),
    ]
      .filter((text) => text !== "")
      .join("\n"),
    profile: home.profile,
    tools: request.tools,
    model,
    provider,
    misreportsModel: findProvider(provider)?.misreportsModel === true,
    workspaceKind: request.workspace.kind,
    taskCompletionGuidance: config.get("agent.task_completion_guidance"),
    toolUseEnforcement: config.get("agent.tool_use_enforcement"),
    contextFiles: rules.files,
    memory: request.memory,
    memoryLimits: { memory: config.get("memory.memory_char_limit"), user: config.get("memory.user_char_limit") },
    learnings: request.learnings,
    budget: {
      totalTokens: config.get("prompt_budget.total_tokens"),
      contextLength,
      layers: config.get("prompt_budget.layers"),
    },
    ...(introspection === undefined ? {} : { runtimeIntrospection: introspection }),
    startedAt: new Date(clock.now()),
    ...(request.externalMemory === undefined ? {} : { externalMemory: request.externalMemory }),
    ...(request.sessionId === undefined ? {} : { sessionId: request.sessionId }),
  })
  return {
    layers,
    warnings: [...(soul.warning === undefined ? [] : [soul.warning]), ...request.memory.notices, ...rules.warnings],
  }
}

const INTROSPECTION_MS = 3000

async function introspect({ workspace }: LayerRequest, { config }: PromptSources): Promise<string | undefined> {
  if (config.get("agent.runtime_introspection") !== true) return undefined
  const { introspectRuntime } = await import("../agent/prompt/runtime-introspection.ts")
  return await introspectRuntime(workspace, { signal: AbortSignal.timeout(INTROSPECTION_MS) })
}

async function projectRules(
  { workspace }: LayerRequest,
  { config, environment }: PromptSources,
): Promise<{ readonly files: readonly ContextFile[]; readonly warnings: readonly string[] }> {
  if (ignoresRules(environment)) return { files: [], warnings: [] }
  return await findContextFiles({
    cwd: workspace.cwd(),
    maxChars: config.get("context_file_max_chars"),
    files: workspace.kind === "local" ? NEARBY_FILES : workspace.files,
  })
}

/** The person started Hermes without the rules of the place. */
export function ignoresRules(environment: Environment): boolean {
  return environment.truthy("HERMES_IGNORE_RULES") || environment.truthy("HERMES_SAFE_MODE")
}
