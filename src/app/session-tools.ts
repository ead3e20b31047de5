import type { ToolDefinition } from "../protocol/tool.ts"
import type { DeferredToolsPort } from "../toolkit/ports/deferred-tools.ts"
import { offerAgain, offerTools } from "../toolkit/deferred-tools.ts"
import type { OfferedTools } from "../toolkit/deferred-tools.ts"
import { createDefinitionSource } from "../toolkit/definitions.ts"
import { toolsetsOffByDefault } from "../toolkit/toolsets.ts"
import { createToolSearch } from "../tools/tool-search/tool-ranking.ts"
import type { Shared } from "./session-options.ts"

/** The tools a session may use, declared or not. */
export async function takeTools(
  toolsets: readonly string[] | undefined,
  shared: Pick<Shared, "config" | "registry" | "log">,
): Promise<readonly ToolDefinition[]> {
  const enabled = toolsets ?? shared.config.get("toolsets")
  const source = createDefinitionSource({ registry: shared.registry, log: shared.log, configStamp: () => "" })
  return await source.getToolDefinitions({
    enabled,
    disabled: [...shared.config.get("agent.disabled_toolsets"), ...toolsetsOffByDefault(enabled)],
  })
}

/** Which of them its model is told about at the start. A session keeps that list for life (law 3), also when it is resumed. */
export function divideTools(
  tools: readonly ToolDefinition[],
  session: {
    readonly prompt: string
    readonly contextLength: number
    /** What a resumed session declared when it began. */
    readonly declaredBefore?: readonly string[]
  },
  { config }: Pick<Shared, "config">,
): OfferedTools {
  const { declaredBefore } = session
  if (declaredBefore !== undefined) return offerAgain(tools, declaredBefore)
  return offerTools(tools, {
    style: config.get("agent.prompt_style"),
    enabled: config.get("tools.tool_search.enabled"),
    thresholdPct: config.get("tools.tool_search.threshold_pct"),
    contextLength: session.contextLength,
    promptBytes: Buffer.byteLength(JSON.stringify(session.prompt)),
  })
}

export function searchFor({ deferred }: OfferedTools, { config }: Pick<Shared, "config">): DeferredToolsPort {
  return createToolSearch(deferred, {
    defaultLimit: config.get("tools.tool_search.search_default_limit"),
    maxLimit: config.get("tools.tool_search.max_search_limit"),
  })
}
