import type { RegistrySnapshot } from "./registry.ts"
import { TOOLSETS } from "./toolset-table.ts"

/** The registered tools of a toolset, sorted; undefined when no toolset has that name. `all` and `*` mean every tool. */
export function resolveToolset(
  name: string,
  { snapshot }: { readonly snapshot: RegistrySnapshot },
): readonly string[] | undefined {
  const tools = [...snapshot.tools.values()]
  const everything = name === "all" || name === "*"
  const isKnown = everything || Object.hasOwn(TOOLSETS, name) || tools.some(({ toolset }) => toolset === name)
  if (!isKnown) return undefined
  const members = new Set(withIncludes(name))
  return tools
    .filter(({ toolset }) => everything || members.has(toolset))
    .map((tool) => tool.name)
    .toSorted()
}

function withIncludes(name: string): readonly string[] {
  const includes = Object.hasOwn(TOOLSETS, name) ? (TOOLSETS[name] ?? []) : []
  return [name, ...includes.flatMap(withIncludes)]
}
