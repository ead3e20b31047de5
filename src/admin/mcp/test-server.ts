import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { McpServer, McpServers } from "../../mcp/mcp-servers.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { onlyServer } from "./home-servers.ts"
import { factsOf } from "./server-facts.ts"
import type { ServerFacts } from "./server-facts.ts"

export interface McpOperation {
  readonly cwd: string
  readonly version: string
  readonly signal: AbortSignal
}

/** Connects to a server of the settings and returns what it offers. */
export async function testServer(
  loaded: LoadedHome,
  name: string,
  options: McpOperation,
): Promise<Result<ServerFacts, AdminFailure>> {
  const opened = onlyServer(loaded, name, options)
  return opened.ok ? await connectOnce(opened.value, options) : opened
}

/** Connects, reads the lists, and closes. */
export async function connectOnce(
  { servers, server }: { readonly servers: McpServers; readonly server: McpServer },
  { signal }: McpOperation,
): Promise<Result<ServerFacts, AdminFailure>> {
  const { name } = server.settings
  try {
    const connection = await server.connection()
    const ready = await connection.ready(signal)
    if (ready.ok) return ok(factsOf(server.settings, server.stored()))
    const isLogin = connection.status().state === "needs-login"
    const advice = isLogin ? `; log in with \`hermes mcp login ${name}\`` : ""
    return fail({ kind: "failed", message: `The MCP server ${name} ${ready.error}${advice}` })
  } finally {
    await servers.close()
  }
}
