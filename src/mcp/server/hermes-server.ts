import { McpServer } from "@modelcontextprotocol/server"

import type { ServedTool } from "./conversation-tools.ts"

export interface HermesServerOptions {
  readonly version: string
  readonly tools: readonly ServedTool[]
  /** Judges and runs a call. Returns its result as JSON; a failure is `{ error }`. Never rejects. */
  readonly call: (tool: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<string>
}

/** Hermes as an MCP server, for other programs. Every tool only reads. */
export function createHermesServer({ version, tools, call }: HermesServerOptions): McpServer {
  const server = new McpServer({ name: "hermes", title: "Hermes", version })
  for (const { tool, input: inputSchema } of tools) {
    const { name, description } = tool
    server.registerTool(
      name,
      { description, inputSchema, annotations: { readOnlyHint: true, openWorldHint: false } },
      async (args, { mcpReq }) => ({
        content: [{ type: "text" as const, text: await call(name, args, mcpReq.signal) }],
      }),
    )
  }
  return server
}
