import { serveStdio } from "@modelcontextprotocol/server/stdio"

import { createRedactor } from "../../base/redact.ts"
import { createHermesServer } from "../../mcp/server/hermes-server.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { openSessionStore } from "../sessions/session-store.ts"

/** Serves the conversations of a home on standard input and output, until the input ends or the signal aborts. */
export async function serveMcp(
  loaded: LoadedHome,
  options: { readonly version: string; readonly signal: AbortSignal; readonly onCall?: (tool: string) => void },
): Promise<void> {
  const store = await openSessionStore(loaded)
  const redactor = createRedactor({ enabled: true, secrets: [] })
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const handle = serveStdio(
    () => {
      const server = createHermesServer({
        ...options,
        clock: loaded.clock,
        store,
        redact: (text) => redactor.redact(text),
      })
      server.server.onclose = () => resolve()
      return server
    },
    { onerror: (error) => loaded.log.warning(`MCP server: ${error.message}`) },
  )
  process.stdin.once("end", resolve)
  options.signal.addEventListener("abort", () => resolve(), { once: true })
  await ended
  await handle.close()
  await store?.close()
}
