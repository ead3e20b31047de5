import { errorMessage } from "../base/system-error.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import { BRIDGES } from "./deferred-tools.ts"
import type { RegistrySnapshot, ToolkitLog, ToolRegistry } from "./registry.ts"
import { sanitiseParameters } from "./schema-sanitiser.ts"
import type { ToolEntry } from "./tool.ts"
import { resolveToolset, type ToolsetScope } from "./toolsets.ts"

/** Gives each session the list of tools that its model is told about. A session keeps the list it took (law 3). */
export interface DefinitionSource {
  getToolDefinitions(selection: ToolSelection): Promise<readonly ToolDefinition[]>
}

export interface ToolSelection {
  /** Toolset names; absent means every toolset. Names that mean nothing are warned about and skipped. */
  readonly enabled?: readonly string[]
  /** Toolset names that are taken away last, so they always win. */
  readonly disabled?: readonly string[]
  /** The session works on a card of the board: the kanban toolset is added. */
  readonly kanbanWorker?: boolean
  /** Leaves out the bridges to deferred tools; otherwise every list with tools in it has them, and `offerTools` decides. */
  readonly skipToolSearch?: boolean
  /** Nobody reads along, so an equal question may be answered from memory. */
  readonly quiet?: boolean
}

export interface DefinitionSourceOptions {
  readonly registry: ToolRegistry
  readonly log: ToolkitLog
  /** Changes whenever the settings file does (its mtime and size). */
  readonly configStamp: () => string | Promise<string>
  /** What settings and plugins add to the built-in toolsets, asked for each list. */
  readonly additions?: () => Omit<ToolsetScope, "snapshot">
}

export function createDefinitionSource(options: DefinitionSourceOptions): DefinitionSource {
  const memo = new Map<string, readonly ToolDefinition[]>()
  return {
    getToolDefinitions: async (selection) => {
      if (selection.quiet !== true) return select(selection, options.registry.snapshot(), options)
      const stamp = await options.configStamp()
      const snapshot = options.registry.snapshot()
      const key = memoKey(selection, snapshot, stamp)
      const known = memo.get(key)
      if (known !== undefined) return [...known]
      const definitions = await select(selection, snapshot, options)
      const oldest = memo.keys().next()
      if (memo.size >= MAX_MEMO_ENTRIES && oldest.done !== true) memo.delete(oldest.value)
      memo.set(key, definitions)
      return [...definitions]
    },
  }
}

/** The definitions of the given tools that exist and are available, sorted by name. */
export async function getDefinitions(
  names: Iterable<string>,
  context: {
    readonly registry: Pick<ToolRegistry, "isAvailable">
    readonly snapshot: Pick<RegistrySnapshot, "tools">
    readonly log: ToolkitLog
  },
): Promise<readonly ToolDefinition[]> {
  const entries = [...new Set(names)].toSorted().flatMap((name) => context.snapshot.tools.get(name) ?? [])
  const answers = await Promise.all(entries.map((entry) => context.registry.isAvailable(entry)))
  const available = entries.filter((_entry, index) => answers[index] === true)
  const listed = new Set(available.map((entry) => entry.name))
  return available.flatMap((entry) => define(entry, listed, context.log) ?? [])
}

const MAX_MEMO_ENTRIES = 8

const LEGACY_NAMES: Readonly<Record<string, string>> = {
  web_tools: "web",
  terminal_tools: "terminal",
  vision_tools: "vision",
  moa_tools: "moa",
  image_tools: "image_gen",
  skills_tools: "skills",
  browser_tools: "browser",
  cronjob_tools: "cronjob",
  file_tools: "file",
  tts_tools: "tts",
}

function memoKey(selection: ToolSelection, snapshot: RegistrySnapshot, stamp: string): string {
  const names = (list: readonly string[] | undefined): readonly string[] | null =>
    list === undefined ? null : [...new Set(list)].toSorted()
  return JSON.stringify([
    names(selection.enabled),
    names(selection.disabled),
    snapshot.generation,
    snapshot.checkEpoch,
    stamp,
    selection.kanbanWorker === true,
    selection.skipToolSearch === true,
  ])
}

async function select(
  selection: ToolSelection,
  snapshot: RegistrySnapshot,
  options: DefinitionSourceOptions,
): Promise<readonly ToolDefinition[]> {
  const { registry, log, additions } = options
  const scope: ToolsetScope = { ...additions?.(), snapshot }
  const toolsOf = (toolset: string): readonly string[] => {
    const tools = resolveToolset(
      Object.hasOwn(LEGACY_NAMES, toolset) ? (LEGACY_NAMES[toolset] ?? toolset) : toolset,
      scope,
    )
    if (tools === undefined) log.warning(`there is no toolset "${toolset}"; it is skipped`)
    return tools ?? []
  }
  const enabled = [...(selection.enabled ?? ["all"]), ...(selection.kanbanWorker === true ? ["kanban"] : [])]
  const chosen = enabled.flatMap(toolsOf).filter((name) => !BRIDGES.includes(name))
  const names = new Set([...chosen, ...(selection.skipToolSearch === true || chosen.length === 0 ? [] : BRIDGES)])
  for (const name of (selection.disabled ?? []).flatMap(toolsOf)) names.delete(name)
  return getDefinitions(names, { registry, snapshot, log })
}

function define(entry: ToolEntry, listed: ReadonlySet<string>, log: ToolkitLog): ToolDefinition | undefined {
  const dynamic = describe(entry, listed, log)
  if (dynamic === null) return undefined
  return {
    name: entry.name,
    description: dynamic.description ?? entry.description,
    parameters: sanitiseParameters(dynamic.parameters ?? entry.parameters),
  }
}

function describe(
  entry: ToolEntry,
  listed: ReadonlySet<string>,
  log: ToolkitLog,
): ReturnType<NonNullable<ToolEntry["describe"]>> {
  try {
    return entry.describe === undefined ? {} : entry.describe(listed)
  } catch (error) {
    log.debug(`the dynamic description of ${entry.name} failed, so the static one is used: ${errorMessage(error)}`)
    return {}
  }
}
