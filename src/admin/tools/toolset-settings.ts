import { fail, ok, type Result } from "../../base/result.ts"
import type { Config } from "../../config/load-config.ts"
import { editConfig } from "../../config/edit-config.ts"
import { builtinEntries } from "../../toolkit/builtin-entries.ts"
import { createToolRegistry } from "../../toolkit/registry.ts"
import { resolveToolset } from "../../toolkit/toolsets.ts"
import { BUILTIN_TOOLS } from "../../tools/builtins.ts"
import { TOOL_MANIFEST } from "../../tools/manifest.generated.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome, type LoadedHome } from "../loaded-home.ts"
import { selectTools } from "../mcp/change-servers.ts"

/** A toolset as new sessions get it. */
export interface ToolsetState {
  readonly name: string
  readonly tools: readonly string[]
  readonly enabled: boolean
  /** `mcp`: the tools of an MCP server, which are known only while it is connected. */
  readonly kind: "builtin" | "mcp"
}

export async function listToolsets(context: HomeContext): Promise<readonly ToolsetState[]> {
  const { config } = await loadHome(context)
  return toolsetStates(config, context)
}

/** What happened to each name. */
export interface ToolsetChange {
  readonly name: string
  readonly outcome: Result<"changed" | "unchanged">
}

/** Enables or disables toolsets and tools of MCP servers (`server:tool`) for new sessions. An unknown name does not stop the others. */
export async function changeToolsets(
  context: HomeContext,
  names: readonly string[],
  action: "enable" | "disable",
): Promise<readonly ToolsetChange[]> {
  const changes: ToolsetChange[] = []
  for (const name of names) {
    // Read again each time: the change before is in the file.
    const home = await loadHome(context)
    changes.push({ name, outcome: await changeOne(home, name, action) })
  }
  return changes
}

async function changeOne(
  home: LoadedHome,
  name: string,
  action: "enable" | "disable",
): Promise<Result<"changed" | "unchanged">> {
  const [server = "", tool] = name.split(":", 2)
  if (tool !== undefined) return await changeServerTool(home, { server, tool, action })
  const state = toolsetStates(home.config, home).find((toolset) => toolset.name === name)
  if (state === undefined) return fail(`there is no toolset ${name}; \`hermes tools list\` shows them`)
  if (state.enabled === (action === "enable")) return ok("unchanged")
  if (state.kind === "mcp")
    return message(await editConfig(home, [{ path: ["mcp_servers", name, "enabled"], value: action === "enable" }]))
  const disabled = home.config.get("agent.disabled_toolsets")
  if (action === "disable")
    return message(await editConfig(home, [{ path: ["agent", "disabled_toolsets"], value: [...disabled, name] }]))
  const kept = disabled.filter((each) => each !== name)
  const toolsets = home.config.get("toolsets")
  const isIncluded = includedIn(toolsets, home).has(name)
  return message(
    await editConfig(home, [
      ...(kept.length === disabled.length ? [] : [{ path: ["agent", "disabled_toolsets"], value: kept }]),
      ...(isIncluded ? [] : [{ path: ["toolsets"], value: [...toolsets, name] }]),
    ]),
  )
}

async function changeServerTool(
  home: LoadedHome,
  { server, tool, action }: { readonly server: string; readonly tool: string; readonly action: "enable" | "disable" },
): Promise<Result<"changed" | "unchanged">> {
  const tools = home.config.lookup(`mcp_servers.${server}.tools`)
  const listOf = (key: string): readonly string[] | undefined => {
    const value = typeof tools === "object" && tools !== null && key in tools ? Reflect.get(tools, key) : undefined
    return Array.isArray(value) ? value.filter((each) => typeof each === "string") : undefined
  }
  const include = listOf("include")
  const exclude = listOf("exclude") ?? []
  if (home.config.lookup(`mcp_servers.${server}`) === undefined)
    return fail(`there is no MCP server ${server}; \`hermes mcp list\` shows them`)
  if (action === "enable") {
    if (include !== undefined && !include.includes(tool)) {
      const selected = await selectTools(home, server, [...include, tool])
      return selected.ok ? ok("changed") : fail(selected.error.message)
    }
    if (!exclude.includes(tool)) return ok("unchanged")
    const path = ["mcp_servers", server, "tools", "exclude"]
    return message(await editConfig(home, [{ path, value: exclude.filter((each) => each !== tool) }]))
  }
  if (include !== undefined)
    return include.includes(tool)
      ? message(
          await editConfig(home, [
            { path: ["mcp_servers", server, "tools", "include"], value: include.filter((each) => each !== tool) },
          ]),
        )
      : ok("unchanged")
  if (exclude.includes(tool)) return ok("unchanged")
  return message(
    await editConfig(home, [{ path: ["mcp_servers", server, "tools", "exclude"], value: [...exclude, tool] }]),
  )
}

function message(edited: Result<undefined, AdminFailure>): Result<"changed"> {
  return edited.ok ? ok("changed") : fail(edited.error.message)
}

function toolsetStates(config: Config, { log }: Pick<HomeContext, "log">): readonly ToolsetState[] {
  const included = includedIn(config.get("toolsets"), { log })
  const disabled = config.get("agent.disabled_toolsets")
  const builtin = Map.groupBy(Object.values(TOOL_MANIFEST), ({ toolset }) => toolset)
  const servers = config.get("mcp_servers")
  return [
    ...Array.from(builtin, ([name, tools]): ToolsetState => ({
      name,
      tools: tools.map((tool) => tool.name).toSorted(),
      enabled: included.has(name) && !disabled.includes(name),
      kind: "builtin",
    })).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    ...Object.keys(servers).map((name): ToolsetState => ({
      name,
      tools: [],
      enabled: config.lookup(`mcp_servers.${name}.enabled`) !== false && !disabled.includes(name),
      kind: "mcp",
    })),
  ]
}

/** The toolsets whose tools these names include. */
function includedIn(names: readonly string[], { log }: Pick<HomeContext, "log">): ReadonlySet<string> {
  const registry = createToolRegistry({ log })
  for (const entry of builtinEntries(TOOL_MANIFEST, BUILTIN_TOOLS)) registry.register(entry)
  const snapshot = registry.snapshot()
  const tools = new Set(names.flatMap((name) => resolveToolset(name, { snapshot }) ?? []))
  return new Set([...snapshot.tools.values()].filter(({ name }) => tools.has(name)).map(({ toolset }) => toolset))
}
