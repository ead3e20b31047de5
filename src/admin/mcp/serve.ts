import { serveStdio } from "@modelcontextprotocol/server/stdio"

import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { conversationTools } from "../../mcp/server/conversation-tools.ts"
import { createHermesServer } from "../../mcp/server/hermes-server.ts"
import type { SessionStore } from "../../state/store.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { openSessionStore } from "../sessions/session-store.ts"
import { openServedCalls } from "./served-calls.ts"

/** Serves the conversations of a home on standard input and output, until the input ends or the signal aborts. */
export async function serveMcp(
  loaded: LoadedHome,
  options: {
    readonly version: string
    readonly cwd: string
    readonly signal: AbortSignal
    /** Called with the name of each tool that is called. */
    readonly onCall?: (tool: string) => void
  },
): Promise<Result<undefined, AdminFailure>> {
  let opening: Promise<SessionStore | undefined> | undefined
  // A home without conversations may get its first one while other programs are connected.
  const openStore = async (): Promise<SessionStore | undefined> => {
    const opened = await (opening ??= openSessionStore(loaded))
    if (opened === undefined) opening = undefined
    return opened
  }
  const tools = conversationTools(openStore, loaded.clock)
  const calls = await openServedCalls(loaded, { tools, cwd: options.cwd })
  if (!calls.ok) return calls
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const handle = serveStdio(
    () => {
      const server = createHermesServer({
        version: options.version,
        tools,
        call: async (tool, args, signal) => {
          options.onCall?.(tool)
          return await calls.value.call(tool, args, signal)
        },
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
  await calls.value.close()
  await (await opening)?.close()
  return ok(undefined)
}
