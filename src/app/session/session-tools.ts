import type { Facets } from "../../agent/facets.ts"
import { findProgram } from "../../base/find-program.ts"
import type { Workspace } from "../../exec/workspace.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import { offerSameTools, offerTools } from "../../toolkit/deferred-tools.ts"
import type { OfferedTools } from "../../toolkit/deferred-tools.ts"
import { getToolDefinitions } from "../../toolkit/definitions.ts"
import type { DeferredToolsPort } from "../../toolkit/ports/deferred-tools.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import { describeScriptTool } from "../../tools/execute-code/describe-script-tool.ts"
import { LANGUAGES } from "../../tools/execute-code/languages.ts"
import { createToolSearch } from "../../tools/tool-search/tool-ranking.ts"
import type { Services } from "../services/services.ts"
import { scriptSettings } from "./session-workspace.ts"

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
    allows = () => true,
    toolText = () => undefined,
  }: {
    readonly toolsets: readonly string[] | undefined
    readonly fromFacets: readonly ToolEntry[]
    readonly workspace: Pick<Workspace, "kind">
    /** Limits the tools further, for a sub-agent. */
    readonly allows?: (entry: ToolEntry) => boolean
    /** The description of a tool in this session, where it differs from its declaration. */
    readonly toolText?: Facets["toolText"]
  },
  { config, registry, log, environment }: Pick<Services, "config" | "registry" | "log" | "environment">,
): SessionTools {
  const enabled = toolsets ?? config.get("toolsets")
  const disabled = config.get("agent.disabled_toolsets")
  const { tools } = registry.snapshot()
  const worksHere = (entry: ToolEntry | undefined): boolean =>
    (workspace.kind === "local" || entry?.localOnly !== true) && (entry === undefined || allows(entry))
  const registered = getToolDefinitions({ enabled, disabled }, { registry, log }).filter(({ name }) =>
    worksHere(tools.get(name)),
  )
  const known = new Set([...tools.values()].map(({ toolset }) => toolset))
  const described = registered.map((definition) => {
    const entry = tools.get(definition.name)
    return { ...definition, ...(entry === undefined ? {} : toolText(entry)) }
  })
  const active = new Set(registered.map(({ name }) => tools.get(name)?.toolset))
  // A facet may bring its own toolset; the selection applies only to known toolsets.
  const added = fromFacets.filter(
    (entry) =>
      worksHere(entry) &&
      (active.has(entry.toolset) || !(known.has(entry.toolset) || disabled.includes(entry.toolset))),
  )
  const definitions = [
    ...described,
    ...added.map(({ name, description, parameters }) => ({ name, description, parameters })),
  ].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const entries = new Map([
    ...registered.flatMap(({ name }): [string, ToolEntry][] => {
      const entry = tools.get(name)
      return entry === undefined ? [] : [[name, entry]]
    }),
    ...added.map((entry): [string, ToolEntry] => [entry.name, entry]),
  ])
  return withScripts({ entries, definitions }, { config, environment, workspace })
}

/** Describes the tool for scripts with the functions that they have in this session, and leaves it out where they have none. */
function withScripts(
  { entries, definitions }: SessionTools,
  session: Pick<Services, "config" | "environment"> & { readonly workspace: Pick<Workspace, "kind"> },
): SessionTools {
  const script = entries.values().find(({ role }) => role === "script")
  if (script === undefined) return { entries, definitions }
  const tools = [...entries.values()].filter(({ inScripts }) => inScripts === true)
  if (tools.length === 0) {
    return {
      entries: new Map([...entries].filter(([name]) => name !== script.name)),
      definitions: definitions.filter(({ name }) => name !== script.name),
    }
  }
  const settings = scriptSettings(session.config)
  const isLocal = session.workspace.kind === "local"
  const isInBackend = settings.location === "backend" && !isLocal
  const hasPython = isInBackend || findProgram("python3", session.environment.get("PATH") ?? "") !== undefined
  const abilities = {
    tools,
    settings,
    languages: LANGUAGES.filter((language) => language !== "python" || hasPython),
    isInProject: settings.mode === "project" && (isLocal || isInBackend),
  }
  return {
    entries,
    definitions: definitions.map((definition) =>
      definition.name === script.name ? describeScriptTool(definition, abilities) : definition,
    ),
  }
}

/** Decides which tools are declared to the model. A session keeps that list for life, even when it is resumed. */
export function divideTools(
  tools: SessionTools,
  session: {
    readonly prompt: string
    readonly contextLength: number
    /** Sources whose tools are only reached through the bridges. */
    readonly sources?: readonly string[]
    /** The tools that a resumed session declared when it began. */
    readonly declaredBefore?: readonly string[]
  },
  { config }: Pick<Services, "config">,
): OfferedTools {
  const { declaredBefore, sources = [] } = session
  const offerable = { ...tools, sources }
  if (declaredBefore !== undefined) return offerSameTools(offerable, declaredBefore)
  return offerTools(offerable, {
    style: config.get("agent.prompt_style"),
    enabled: config.get("tools.tool_search.enabled"),
    thresholdPct: config.get("tools.tool_search.threshold_pct"),
    contextLength: session.contextLength,
    promptBytes: Buffer.byteLength(JSON.stringify(session.prompt)),
  })
}

/** The tools of an open session. Those that arrive later are never declared: the model finds them through the bridges. */
export interface GrowingTools {
  readonly entries: ReadonlyMap<string, ToolEntry>
  readonly port: DeferredToolsPort
  /** Replaces all tools of one toolset that are not declared. Names that another tool has are left out. */
  replace(toolset: string, entries: readonly ToolEntry[]): void
}

export function createGrowingTools(
  tools: SessionTools,
  { declared, deferred }: OfferedTools,
  { config, log }: Pick<Services, "config" | "log">,
): GrowingTools {
  const entries = new Map(tools.entries)
  const fixed = new Set(declared.map(({ name }) => name))
  const limits = {
    defaultLimit: config.get("tools.tool_search.search_default_limit"),
    maxLimit: config.get("tools.tool_search.max_search_limit"),
  }
  let hidden: readonly ToolDefinition[] = deferred
  let search = createToolSearch(hidden, limits)
  return {
    entries,
    port: {
      names: () => search.names(),
      search: (query, limit) => search.search(query, limit),
      find: (name) => search.find(name),
    },
    replace: (toolset, added) => {
      if (config.get("agent.disabled_toolsets").includes(toolset)) return
      const isReplaced = (name: string): boolean => entries.get(name)?.toolset === toolset && !fixed.has(name)
      hidden = hidden.filter(({ name }) => !isReplaced(name))
      for (const name of [...entries.keys()].filter(isReplaced)) entries.delete(name)
      for (const entry of added) {
        const owner = entries.get(entry.name)
        if (owner !== undefined && owner.toolset !== toolset)
          log.warning(`${entry.name} of ${toolset} is left out: ${owner.toolset} has a tool of that name`)
        if (owner !== undefined) continue
        entries.set(entry.name, entry)
        const { name, description, parameters } = entry
        hidden = [...hidden, { name, description, parameters }]
      }
      search = createToolSearch(hidden, limits)
    },
  }
}
