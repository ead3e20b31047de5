import { pathToFileURL } from "node:url"

import { errorMessage } from "../../base/system-error.ts"
import type { CallScope } from "../../mcp/client/call-scope.ts"
import type { McpServer, McpServers } from "../../mcp/mcp-servers.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/**
 * The tools of MCP servers. A session offers at once what earlier connections have stored, and connects while it waits for the model. Tools
 * are never declared to the model, so that a slow or changed server changes nothing that was sent.
 */
export async function mcpFacet(context: FacetContext): Promise<AppFacet | undefined> {
  const { services, options } = context
  if (services.mcp.names().length === 0) return undefined
  const [{ mcpEntries }, { promptCommands }, { isSelected }, opened] = await Promise.all([
    import("../../mcp/tool-entries.ts"),
    import("../../mcp/prompt-commands.ts"),
    import("../../mcp/select-servers.ts"),
    services.mcp.open({ cwd: options.cwd }),
  ])
  const disabled = services.config.get("agent.disabled_toolsets")
  const select = ({ list }: McpServers): readonly McpServer[] =>
    list.filter(({ settings }) => isSelected(settings.name, { enabled: options.toolsets, disabled }))
  let servers = select(opened)
  if (servers.length === 0) return undefined
  const scope = sessionScope(context)
  const entryContext = { scope, mediaDirectory: services.home.file("cache", "images") }
  const taken = new Set<string>()
  const entriesOf = (server: McpServer): readonly ToolEntry[] => mcpEntries(server, entryContext, taken)
  const stops: (() => void)[] = []
  const watch = (server: McpServer): void => {
    stops.push(server.onListing(() => show(server)))
  }
  const show = (server: McpServer): void => {
    context.session().replaceTools(`mcp-${server.settings.name}`, entriesOf(server))
  }
  const connect = (server: McpServer): void => {
    server
      .connection()
      .then((connection) => {
        connection.useScope(scope)
        return connection.ready(closing.signal)
      })
      .catch((error: unknown) => {
        services.log.warning(`the MCP server ${server.settings.name} cannot be used: ${errorMessage(error)}`)
      })
  }
  const connectNeeded = (): void => {
    const isAttended = options.origin.attended()
    for (const server of servers) if (isAttended || server.stored() === undefined) connect(server)
  }
  const closing = new AbortController()
  return {
    name: "mcp",
    tools: () => servers.flatMap(entriesOf),
    toolSources: () => servers.map(({ settings }) => settings.name).toSorted(),
    ports: () => ({
      toolSources: {
        arrived: async (signal) => {
          const { waitForServers } = await import("../../mcp/wait-for-servers.ts")
          return await waitForServers(servers, { clock: services.clock, signal })
        },
      },
    }),
    abilities: () => ({
      mcp: {
        prompts: () =>
          promptCommands(servers).map(({ command, prompt }) => ({
            command,
            description: prompt.description,
            argument: prompt.arguments.map(({ name, required }) => (required ? name : `[${name}]`)).join(" "),
          })),
        fillPrompt: async (command, argument, signal) => {
          const found = promptCommands(servers).find((known) => known.command === command)
          if (found === undefined) return undefined
          const { fillPrompt } = await import("../../mcp/client/run-tool.ts")
          return await fillPrompt(found, argument, { ...entryContext, signal })
        },
      },
    }),
    opened: () => {
      for (const server of servers) watch(server)
      stops.push(
        services.mcp.onReload((reloaded) => {
          for (const { settings } of servers) context.session().replaceTools(`mcp-${settings.name}`, [])
          servers = select(reloaded)
          for (const server of servers) {
            watch(server)
            show(server)
            connect(server)
          }
        }),
      )
    },
    // A script that calls no tool of a known server does not start it; a user who is present will probably need it.
    awaitingReply: () => {
      connectNeeded()
      return Promise.resolve()
    },
    // A quick reply may have come before `awaitingReply`.
    afterTurn: () => {
      if (options.origin.attended()) connectNeeded()
    },
    close: () => {
      closing.abort()
      for (const stop of stops) stop()
      for (const server of servers) server.opened()?.useScope(undefined)
      return Promise.resolve()
    },
  }
}

function sessionScope({ workspace, auxiliary, options }: FacetContext): CallScope {
  return {
    roots: () => (workspace.kind === "local" ? [{ uri: pathToFileURL(options.cwd).href, name: "workspace" }] : []),
    sample: async (request, signal) => {
      const { answerSampling } = await import("./mcp-sampling.ts")
      return await answerSampling(request, { auxiliary, signal })
    },
  }
}
