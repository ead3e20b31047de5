import { orAborted } from "../base/abort.ts"
import type { Clock } from "../base/clock.ts"
import type { McpServer } from "./mcp-servers.ts"

/** How long a search for tools waits for servers that connect for the first time. */
const WAIT_MS = 10_000

/** Waits for servers whose tools are not known yet. Returns a sentence about each one that is still missing. */
export async function waitForServers(
  servers: readonly McpServer[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const unknown = servers.filter((server) => server.stored() === undefined)
  if (unknown.length === 0) return []
  const stop = new AbortController()
  const limit = clock.sleep(WAIT_MS, { signal: AbortSignal.any([signal, stop.signal]) }).catch(() => undefined)
  const connected = Promise.all(
    unknown.map(async (server) => {
      const connection = await server.connection()
      await connection.ready(signal)
    }),
  ).catch(() => undefined)
  await orAborted(Promise.race([limit, connected]), signal)
  stop.abort()
  return unknown
    .filter((server) => server.stored() === undefined)
    .map((server) => {
      const { problem } = server.opened()?.status() ?? {}
      return problem === undefined
        ? `the MCP server ${server.settings.name} is still connecting; search again later`
        : `the MCP server ${server.settings.name} ${problem}`
    })
}
