import type { RegistrySnapshot } from "./registry.ts"
import { CORE_TOOLS, OFF_BY_DEFAULT, STATIC_TOOLSETS, type Toolset } from "./toolset-table.ts"

/** What a name is resolved against: the registry as it is now, and what settings and plugins add. */
export interface ToolsetScope {
  readonly snapshot: Pick<RegistrySnapshot, "tools" | "aliases">
  /** `custom_toolsets` of the settings; a built-in name cannot be redefined. */
  readonly custom?: Readonly<Record<string, Toolset>>
  /** Platforms that plugins supply: `hermes-<platform>` then is the core list and the platform's own tools. */
  readonly pluginPlatforms?: ReadonlySet<string>
}

/** The registered tools of a toolset, sorted; undefined when nothing has that name. `all` and `*` mean every toolset. */
export function resolveToolset(name: string, scope: ToolsetScope): readonly string[] | undefined {
  if (name === "all" || name === "*") return [...scope.snapshot.tools.keys()].toSorted()
  if (findToolset(name, scope) === undefined) return undefined
  const found = new Set<string>()
  collect(name, { scope, found, visited: new Set() })
  return [...found].filter((tool) => scope.snapshot.tools.has(tool)).toSorted()
}

/** What to disable beside a person's own choice: a bundle brings these tools, but they stay off until named themselves. */
export function toolsetsOffByDefault(enabled: readonly string[]): readonly string[] {
  return enabled.includes("all") || enabled.includes("*")
    ? []
    : OFF_BY_DEFAULT.filter((name) => !enabled.includes(name))
}

const BUNDLE_PREFIX = "hermes-"

interface Walk {
  readonly scope: ToolsetScope
  readonly found: Set<string>
  readonly visited: Set<string>
}

/** An include that names nothing adds nothing; the visited set ends cycles. */
function collect(name: string, walk: Walk): void {
  if (walk.visited.has(name)) return
  walk.visited.add(name)
  const toolset = findToolset(name, walk.scope)
  if (toolset === undefined) return
  for (const tool of toolset.tools) walk.found.add(tool)
  for (const include of toolset.includes) collect(include, walk)
}

/** The toolset of that name together with the registered tools that name it as theirs. */
function findToolset(name: string, scope: ToolsetScope): Toolset | undefined {
  const target = scope.snapshot.aliases.get(name)
  const known = namedToolset(name, scope)
  if (known === undefined && target !== undefined && target !== name) {
    return { description: `Another name for ${target}`, tools: registeredUnder(target, scope), includes: [target] }
  }
  const registered = registeredUnder(name, scope)
  if (known === undefined && registered.length === 0) return undefined
  return {
    description: known?.description ?? `Tools of ${name}`,
    tools: [...(known?.tools ?? []), ...registered],
    includes: known?.includes ?? [],
  }
}

function namedToolset(name: string, scope: ToolsetScope): Toolset | undefined {
  if (Object.hasOwn(STATIC_TOOLSETS, name)) return STATIC_TOOLSETS[name]
  if (scope.custom !== undefined && Object.hasOwn(scope.custom, name)) return scope.custom[name]
  const platform = name.startsWith(BUNDLE_PREFIX) ? name.slice(BUNDLE_PREFIX.length) : undefined
  if (platform === undefined || scope.pluginPlatforms?.has(platform) !== true) return undefined
  return { description: `Everything for ${platform}`, tools: CORE_TOOLS, includes: [platform] }
}

function registeredUnder(toolset: string, scope: ToolsetScope): readonly string[] {
  return [...scope.snapshot.tools.values()].flatMap((entry) => (entry.toolset === toolset ? [entry.name] : []))
}
