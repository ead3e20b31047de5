import type { Logger } from "../base/logger.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { ToolRegistry } from "./registry.ts"
import { sanitiseParameters } from "./schema-sanitiser.ts"
import type { ToolEntry } from "./tool.ts"
import { resolveToolset } from "./toolsets.ts"

export interface ToolSelection {
  /** Toolset names. A name that no toolset has is skipped with a warning. */
  readonly enabled: readonly string[]
  /** Toolsets whose tools are removed after `enabled` was applied. */
  readonly disabled?: readonly string[]
}

/**
 * The definitions of the selected tools, sorted by name. The bridges to deferred tools are part of every list that has other
 * tools; `offerTools` decides whether they are declared. A session keeps the list it started with.
 */
export function getToolDefinitions(
  { enabled, disabled = [] }: ToolSelection,
  { registry, log }: { readonly registry: Pick<ToolRegistry, "snapshot">; readonly log: Pick<Logger, "warning"> },
): readonly ToolDefinition[] {
  const snapshot = registry.snapshot()
  const toolsOf = (name: string): readonly string[] => {
    const tools = resolveToolset(LEGACY_NAMES.get(name) ?? name, { snapshot })
    if (tools === undefined) log.warning(`skipped the unknown toolset "${name}"`)
    return tools ?? []
  }
  const isBridge = (name: string): boolean => snapshot.tools.get(name)?.bridge !== undefined
  const selected = enabled.flatMap(toolsOf).filter((name) => !isBridge(name))
  const names = new Set([...selected, ...(selected.length === 0 ? [] : [...snapshot.tools.keys()].filter(isBridge))])
  for (const name of disabled.flatMap(toolsOf)) names.delete(name)
  return [...names].toSorted().flatMap((name) => {
    const entry = snapshot.tools.get(name)
    return entry === undefined ? [] : [definitionOf(entry)]
  })
}

/** Toolset names that the Python edition accepted. */
const LEGACY_NAMES: ReadonlyMap<string, string> = new Map([
  ["web_tools", "web"],
  ["terminal_tools", "terminal"],
  ["vision_tools", "vision"],
  ["moa_tools", "moa"],
  ["image_tools", "image_gen"],
  ["skills_tools", "skills"],
  ["browser_tools", "browser"],
  ["cronjob_tools", "cronjob"],
  ["file_tools", "file"],
  ["tts_tools", "tts"],
])

function definitionOf({ name, description, parameters }: ToolEntry): ToolDefinition {
  return { name, description, parameters: sanitiseParameters(parameters) }
}
