import { ellipsize } from "../base/text.ts"
import type { Access } from "../protocol/tool.ts"
import type { ToolEntry } from "../toolkit/tool.ts"
import type { ToolBody } from "./runnable-tool.ts"
import { offeredDescription } from "./catalogue/stored-server.ts"
import type { ToolDescription } from "./catalogue/stored-server.ts"
import type { EntryContext } from "./entry-context.ts"
import type { McpServer } from "./mcp-servers.ts"
import { isOffered } from "./tool-filter.ts"
import { mcpToolName, toolsetOf } from "./tool-names.ts"
import { UTILITY_TOOLS } from "./utility-tools.ts"

/** The tools of a server that a session may use. A name in `taken` belongs to another tool and gets a suffix. */
export function mcpEntries(
  server: McpServer,
  context: EntryContext,
  taken: ReadonlySet<string> = new Set(),
): readonly ToolEntry[] {
  const stored = server.stored()
  if (stored === undefined) return []
  const names = new Set(taken)
  const nameOf = (tool: string): string => {
    const name = mcpToolName(server.settings.name, tool, names)
    names.add(name)
    return name
  }
  const tools = stored.tools.flatMap((tool) => {
    const description = offeredDescription(tool)
    if (description === undefined || !isOffered(tool.name, server.settings.tools)) return []
    return [toolEntry({ name: nameOf(tool.name), tool: tool.name, description }, server, context)]
  })
  const listed = new Set(stored.tools.map(({ name }) => name))
  const utilities = UTILITY_TOOLS.filter(
    ({ name, needs }) =>
      !listed.has(name) &&
      (needs === "resources"
        ? server.settings.tools.resources && stored.hasResources
        : server.settings.tools.prompts && stored.hasPrompts),
  ).map((utility) =>
    entryOf(nameOf(utility.name), server, {
      description: `${utility.description} (MCP server ${server.settings.name})`,
      parameters: utility.parameters,
      access: utility.sendsText && !server.settings.trustAnnotations ? "unknown" : "read",
      subject: utility.name,
      run: async (args, toolContext) => {
        const { runUtility } = await import("./client/run-tool.ts")
        return await runUtility(utility.name, args, { server, context, toolContext })
      },
    }),
  )
  return [...tools, ...utilities]
}

interface NamedTool {
  /** As the model calls it. */
  readonly name: string
  /** As the server calls it. */
  readonly tool: string
  readonly description: ToolDescription
}

function toolEntry({ name, tool, description }: NamedTool, server: McpServer, context: EntryContext): ToolEntry {
  return entryOf(name, server, {
    description: ellipsize(description.description, MAX_DESCRIPTION_CHARS),
    parameters: description.parameters,
    access: accessOf(description, server),
    subject: tool,
    run: async (args, toolContext) => {
      const { runMcpTool } = await import("./client/run-tool.ts")
      return await runMcpTool({ name, tool }, args, { server, context, toolContext })
    },
  })
}

const MAX_DESCRIPTION_CHARS = 8000

interface EntryBody extends ToolBody {
  readonly description: string
}

function entryOf(name: string, { settings }: McpServer, body: EntryBody): ToolEntry {
  return {
    name,
    toolset: toolsetOf(settings.name),
    description: body.description,
    parameters: body.parameters,
    source: { kind: "mcp", server: settings.name },
    provenance: "mcp",
    parallel: settings.parallel ? "safe" : "never",
    deferredSource: settings.name,
    // Imported late: it loads the code that every tool call needs, which no start should.
    load: async () => (await import("./runnable-tool.ts")).createRunnable(name, body),
  }
}

/** Nobody but the server says what a tool does, so its effect is unknown unless the user trusts what the server says. */
function accessOf({ readOnly }: ToolDescription, { settings }: McpServer): Access | "unknown" {
  if (!settings.trustAnnotations) return "unknown"
  return readOnly ? "read" : "network"
}
