import type { FacetLayer } from "../../agent/facet.ts"
import type { Facets } from "../../agent/facets.ts"
import { platformOf } from "../../agent/origin.ts"
import type { Origin } from "../../agent/origin.ts"
import { DEFAULT_IDENTITY, promptLayers } from "../../agent/prompt/build-prompt.ts"
import type { PromptLayer } from "../../agent/prompt/build-prompt.ts"
import { takeCodePoints } from "../../base/text.ts"
import type { Workspace } from "../../exec/workspace.ts"
import { readSoul } from "../../knowledge/soul-file.ts"
import type { ModelRuntime } from "../../llm/model.ts"
import { findProvider } from "../../llm/providers.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Services } from "../services/services.ts"
import type { SessionTools } from "./session-tools.ts"

export interface PromptSource {
  readonly origin: Origin
  readonly runtime: Pick<ModelRuntime, "provider" | "model" | "contextLength">
  readonly tools: SessionTools
  readonly facets: Facets
  readonly workspace: Workspace
  readonly workspaceNote?: string
  /** Absent: the prompt does not name the session. */
  readonly sessionId?: SessionId
}

export interface PromptDraft {
  readonly layers: readonly PromptLayer[]
  /** For the user, for example about a rules file that was cut or blocked. */
  readonly warnings: readonly string[]
}

/** Builds the system prompt of a session from the home, the settings, the workspace and its facets. */
export async function buildSessionPrompt(
  source: PromptSource,
  { config, environment, home, clock }: Services,
): Promise<PromptDraft> {
  const { provider, model, contextLength } = source.runtime
  const style = config.get("agent.prompt_style")
  const tools = [...source.tools.entries.values()]
  const [facetLayers, workspace, runtimeIntrospection] = await Promise.all([
    source.facets.promptLayers({ tools, style }),
    source.workspace.describe(),
    config.get("agent.runtime_introspection") === true ? introspect(source.workspace) : undefined,
  ])
  const soul = environment.truthy("HERMES_SAFE_MODE")
    ? { text: "" }
    : readSoul(home.file("SOUL.md"), {
        maxChars: config.get("context_file_max_chars"),
        defaultText: DEFAULT_IDENTITY,
      })
  const hints = [
    source.workspaceNote ?? "",
    environment.get("HERMES_ENVIRONMENT_HINT") ?? config.get("agent.environment_hint"),
  ]
  const layers = promptLayers({
    soul: soul.text,
    style,
    platform: platformOf(source.origin),
    workspace,
    environmentHint: hints.filter((text) => text !== "").join("\n"),
    profile: home.profile,
    tools,
    model,
    provider,
    misreportsModel: findProvider(provider)?.misreportsModel === true,
    workspaceKind: source.workspace.kind,
    taskCompletionGuidance: config.get("agent.task_completion_guidance"),
    toolUseEnforcement: config.get("agent.tool_use_enforcement"),
    facetLayers: [...facetLayers, settingsLayer(config)],
    budget: {
      totalTokens: config.get("prompt_budget.total_tokens"),
      contextLength,
      layers: config.get("prompt_budget.layers"),
    },
    ...(runtimeIntrospection === undefined ? {} : { runtimeIntrospection }),
    startedAt: new Date(clock.now()),
    ...(source.sessionId === undefined ? {} : { sessionId: source.sessionId }),
  })
  const warnings = [soul.warning, ...facetLayers.map(({ warning }) => warning)]
  return { layers, warnings: warnings.filter((warning) => warning !== undefined) }
}

function settingsLayer(config: Services["config"]): FacetLayer {
  const text = takeCodePoints(config.get("agent.system_prompt"), config.get("context_file_max_chars"))
  return { tier: "context", name: "agent.system_prompt", text }
}

const INTROSPECTION_MS = 3000

async function introspect(workspace: Workspace): Promise<string> {
  const { introspectRuntime } = await import("../../agent/prompt/runtime-introspection.ts")
  return await introspectRuntime(workspace, { signal: AbortSignal.timeout(INTROSPECTION_MS) })
}
