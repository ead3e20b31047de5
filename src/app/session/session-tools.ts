import type { Workspace } from "../../exec/workspace.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import { offerSameTools, offerTools } from "../../toolkit/deferred-tools.ts"
import type { OfferedTools } from "../../toolkit/deferred-tools.ts"
import { getToolDefinitions } from "../../toolkit/definitions.ts"
import type { DeferredToolsPort } from "../../toolkit/ports/deferred-tools.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import { createToolSearch } from "../../tools/tool-search/tool-ranking.ts"
import type { Services } from "../services/services.ts"

/** The tools of a session by name, and their definitions for the model; both sorted by name. */
export interface SessionTools {
  readonly entries: ReadonlyMap<string, ToolEntry>
  readonly definitions: readonly ToolDefinition[]
}

/** The tools that a session may use: those of the enabled toolsets, and those that its facets bring for them. */
export function selectTools(
  {
    toolsets,
    fromFacets,
    workspace,
  }: {
    readonly toolsets: readonly string[] | undefined
    readonly fromFacets: readonly ToolEntry[]
    readonly workspace: Pick<Workspace, "kind">
  },
  { config, registry, log }: Pick<Services, "config" | "registry" | "log">,
): SessionTools {
  const enabled = toolsets ?? config.get("toolsets")
  const disabled = config.get("agent.disabled_toolsets")
  const { tools } = registry.snapshot()
  const worksHere = (entry: ToolEntry | undefined): boolean => workspace.kind === "local" || entry?.localOnly !== true
  const registered = getToolDefinitions({ enabled, disabled }, { registry, log }).filter(({ name }) =>
    worksHere(tools.get(name)),
  )
  const known = new Set([...tools.values()].map(({ toolset }) => toolset))
  const active = new Set(registered.map(({ name }) => tools.get(name)?.toolset))
  // A facet may bring its own toolset; the selection applies only to known toolsets.
  const added = fromFacets.filter(
    (entry) =>
      worksHere(entry) &&
      (active.has(entry.toolset) || !(known.has(entry.toolset) || disabled.includes(entry.toolset))),
  )
  const definitions = [
    ...registered,
    ...added.map(({ name, description, parameters }) => ({ name, description, parameters })),
  ].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const entries = new Map([
    ...registered.flatMap(({ name }): [string, ToolEntry][] => {
      const entry = tools.get(name)
      return entry === undefined ? [] : [[name, entry]]
    }),
    ...added.map((entry): [string, ToolEntry] => [entry.name, entry]),
  ])
  return { entries, definitions }
}

/** Decides which tools are declared to the model. A session keeps that list for life, even when it is resumed. */
export function divideTools(
  tools: SessionTools,
  session: {
    readonly prompt: string
    readonly contextLength: number
    /** The tools that a resumed session declared when it began. */
    readonly declaredBefore?: readonly string[]
  },
  { config }: Pick<Services, "config">,
): OfferedTools {
  const { declaredBefore } = session
  if (declaredBefore !== undefined) return offerSameTools(tools, declaredBefore)
  return offerTools(tools, {
    style: config.get("agent.prompt_style"),
    enabled: config.get("tools.tool_search.enabled"),
    thresholdPct: config.get("tools.tool_search.threshold_pct"),
    contextLength: session.contextLength,
    promptBytes: Buffer.byteLength(JSON.stringify(session.prompt)),
  })
}

export function deferredToolsPort({ deferred }: OfferedTools, { config }: Pick<Services, "config">): DeferredToolsPort {
  return createToolSearch(deferred, {
    defaultLimit: config.get("tools.tool_search.search_default_limit"),
    maxLimit: config.get("tools.tool_search.max_search_limit"),
  })
}
