import type { Clock } from "../base/clock.ts"
import { readRegularFile } from "../base/regular-file.ts"
import { isNotFound } from "../base/system-error.ts"
import { promptLayers } from "../agent/prompt/build-prompt.ts"
import type { PromptLayer } from "../agent/prompt/build-prompt.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load.ts"
import type { Workspace } from "../exec/workspace.ts"
import { addMemory, readMemory } from "../knowledge/memory-files.ts"
import type { MemoryFile } from "../knowledge/memory-files.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { MemoryPort } from "../toolkit/ports/memory.ts"

interface PromptSources {
  readonly config: Config
  readonly environment: Environment
  readonly home: Home
  readonly clock: Clock
}

interface LayerRequest {
  readonly platform: string
  readonly model: string
  readonly tools: readonly ToolDefinition[]
  readonly workspace: Workspace
  readonly sessionId: SessionId | undefined
}

/** The system prompt of a new session, layer by layer, from what the home and the settings say. */
export async function layersFor(request: LayerRequest, sources: PromptSources): Promise<readonly PromptLayer[]> {
  const { config, environment, home, clock } = sources
  const usesMemory = config.get("memory.memory_enabled") && !environment.truthy("HERMES_SAFE_MODE")
  return promptLayers({
    soul: readSoul(home),
    platform: request.platform,
    workspace: await request.workspace.describe(),
    environmentHint: environment.get("HERMES_ENVIRONMENT_HINT") ?? config.get("agent.environment_hint"),
    profile: home.profile,
    tools: request.tools,
    model: request.model,
    taskCompletionGuidance: config.get("agent.task_completion_guidance"),
    toolUseEnforcement: config.get("agent.tool_use_enforcement") !== false,
    memory: {
      memory: usesMemory ? readMemory(memoryFile("memory", sources)) : [],
      user: usesMemory && config.get("memory.user_profile_enabled") ? readMemory(memoryFile("user", sources)) : [],
    },
    startedAt: new Date(clock.now()),
    ...(request.sessionId === undefined ? {} : { sessionId: request.sessionId }),
  })
}

/** The person's own words about who Hermes is; a file beyond this is a mistake. */
const MAX_SOUL_BYTES = 200_000

function readSoul(home: Home): string {
  try {
    return readRegularFile(home.file("SOUL.md"), { maxBytes: MAX_SOUL_BYTES }).bytes.toString("utf8")
  } catch (error) {
    if (isNotFound(error)) return ""
    throw error
  }
}

function memoryFile(target: "memory" | "user", { home, config }: Pick<PromptSources, "home" | "config">): MemoryFile {
  return target === "memory"
    ? { path: home.file("memories", "MEMORY.md"), limitChars: config.get("memory.memory_char_limit") }
    : { path: home.file("memories", "USER.md"), limitChars: config.get("memory.user_char_limit") }
}

/** What the memory tool may do with the two files of the home. */
export function memoryPort(sources: PromptSources): MemoryPort {
  return {
    add: (target, text) => addMemory(memoryFile(target, sources), text),
    entries: (target) => Promise.resolve(readMemory(memoryFile(target, sources))),
  }
}
