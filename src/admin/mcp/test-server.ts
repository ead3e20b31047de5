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
  if (!opened.ok) return opened
  const connected = await connectOnce(opened.value, options)
  return connected.ok ? connected : fail({ kind: "failed", message: connected.error.message })
}

/** Why a server cannot be used. */
export interface ConnectFailure {
  readonly message: string
  /** Only a login is missing. */
  readonly needsLogin: boolean
}

/** Connects, reads the lists, and closes. */
export async function connectOnce(
  { servers, server }: { readonly servers: McpServers; readonly server: McpServer },
  { signal }: McpOperation,
): Promise<Result<ServerFacts, ConnectFailure>> {
  const { name, target } = server.settings
  try {
    const connection = await server.connection()
    const ready = await connection.ready(signal)
    if (ready.ok) return ok(factsOf(server.settings, server.stored()))
    const needsLogin = connection.status().state === "needs-login"
    const advice = needsLogin
      ? `; log in with \`hermes mcp login ${name}\``
      : target.kind === "stdio"
        ? ". What it wrote to its error output is in logs/mcp-stderr.log"
        : ""
    return fail({ message: `The MCP server ${name} ${ready.error}${advice}`, needsLogin })
  } finally {
    await servers.close()
  }
}
