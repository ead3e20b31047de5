import { readStoredServer } from "../../mcp/catalogue/stored-server.ts"
import type { StoredServer } from "../../mcp/catalogue/stored-server.ts"
import { readServers } from "../../mcp/server-settings.ts"
import type { ServerSettings } from "../../mcp/server-settings.ts"
import { isOffered } from "../../mcp/tool-filter.ts"
import type { LoadedHome } from "../loaded-home.ts"

/** A configured server, and what its last connection said. */
export interface ServerFacts {
  readonly name: string
  readonly enabled: boolean
  /** Its command line or address. */
  readonly target: string
  /** Absent when it was never connected. */
  readonly tools?: readonly ToolFacts[]
  readonly prompts: readonly string[]
}

export interface ToolFacts {
  readonly name: string
  readonly description: string
  /** `quarantined`: the server changed it; `blocked`: its description looks like an attack; `excluded`: the settings leave it out. */
  readonly state: "offered" | "excluded" | "quarantined" | "blocked"
  readonly reason?: string
}

/** The tools of a server that the settings offer and that are refused until the user accepts them. */
export function heldTools({ tools = [] }: ServerFacts): readonly ToolFacts[] {
  return tools.filter(({ state }) => state === "quarantined" || state === "blocked")
}

export function listMcpServers(loaded: LoadedHome): {
  readonly servers: readonly ServerFacts[]
  readonly problems: readonly string[]
} {
  const { servers, problems } = readServers(loaded.config.get("mcp_servers"))
  return { servers: servers.map((settings) => factsOf(settings, readStoredServer(loaded.home, settings))), problems }
}

export function factsOf(settings: ServerSettings, stored: StoredServer | undefined): ServerFacts {
  const { name, enabled, target } = settings
  return {
    name,
    enabled,
    target: target.kind === "http" ? target.url : [target.command, ...target.args].join(" "),
    ...(stored === undefined ? {} : { tools: toolFacts(settings, stored) }),
    prompts: (stored?.prompts ?? []).map((prompt) => prompt.name),
  }
}

function toolFacts({ tools: filter }: ServerSettings, { tools }: StoredServer): readonly ToolFacts[] {
  return tools
    .filter(({ gone }) => gone !== true)
    .map(({ name, accepted, waiting, blocked, reason }) => ({
      name,
      description: accepted?.description ?? waiting?.description ?? "",
      state: isOffered(name, filter) ? stateOf({ blocked, waiting }) : "excluded",
      ...(reason === undefined ? {} : { reason }),
    }))
}

function stateOf({ blocked, waiting }: { blocked: boolean | undefined; waiting: unknown }): ToolFacts["state"] {
  if (blocked === true) return "blocked"
  return waiting === undefined ? "offered" : "quarantined"
}
