import { isInputRequiredResult, McpServer } from "@modelcontextprotocol/server"
import type { CallToolResult, InputRequiredResult, McpRequestContext } from "@modelcontextprotocol/server"

import type { ServedTool } from "./conversation-tools.ts"
import { registerConversations } from "./conversation-resources.ts"
import type { ConversationWatch } from "./conversation-watch.ts"
import type { OpenCalls } from "./open-calls.ts"
import { runInRounds } from "./run-in-rounds.ts"
import type { RoundStateCodec } from "./run-in-rounds.ts"
import type { RunServedCall } from "./served-call.ts"
import { serveSubscriptions } from "./subscriptions.ts"

export interface HermesServerOptions {
  readonly version: string
  readonly tools: readonly ServedTool[]
  /** Runs calls during which no question can be asked. */
  readonly run: RunServedCall
  /** Shared by the servers of all clients. */
  readonly calls: OpenCalls
  readonly codec: RoundStateCodec
  readonly watch: ConversationWatch
  /** How long a question stays open on the side of an older host; it must not end before Hermes' own limit. */
  readonly questionTimeoutMs: number
}

/** Hermes as an MCP server for one client: tools, conversations as resources, and a prompt. Every tool only reads. */
export function createHermesServer(options: HermesServerOptions, { era }: Pick<McpRequestContext, "era">): McpServer {
  const { version, tools, codec } = options
  const server = new McpServer(
    { name: "hermes", title: "Hermes", version },
    {
      // What is offered does not change while a client is connected.
      capabilities: {
        logging: {},
        tools: { listChanged: false },
        resources: { listChanged: false },
        prompts: { listChanged: false },
      },
      requestState: { verify: (state, context) => codec.verify(state, context) },
      inputRequired: { roundTimeoutMs: options.questionTimeoutMs },
    },
  )
  const inRounds = runInRounds(server, options)
  for (const { tool, input: inputSchema } of tools) {
    const { name, description } = tool
    server.registerTool(
      name,
      { description, inputSchema, annotations: { readOnlyHint: true, openWorldHint: false } },
      async (args, context): Promise<CallToolResult | InputRequiredResult> => {
        const result = await inRounds({ tool: name, args }, context)
        if (isInputRequiredResult(result)) return result
        if (result.outcome === "refused") await context.mcpReq.log("warning", `${name} was refused`, "hermes")
        return {
          content: [{ type: "text", text: result.text }],
          ...(result.outcome === "ok" ? {} : { isError: true }),
        }
      },
    )
  }
  registerConversations(server, { inRounds, run: options.run })
  if (era === "legacy") server.server.onclose = serveSubscriptions(server, options)
  return server
}
