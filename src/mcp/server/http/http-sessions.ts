import { isInitializeRequest, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server"
import type { McpServer } from "@modelcontextprotocol/server"

import type { Clock } from "../../../base/clock.ts"
import { parseJson } from "../../../base/json.ts"
import { createEventStore } from "./event-store.ts"

/** The sessions of clients up to protocol 2025-11-25. Later revisions have none. */
export interface HttpSessions {
  handle(request: Request): Promise<Response>
  close(): Promise<void>
}

interface Session {
  readonly server: McpServer
  readonly transport: WebStandardStreamableHTTPServerTransport
  lastUsed: number
}

const MAX_SESSIONS = 64
/** How long a client may be silent before a new one may replace it. It then starts a new session. */
const IDLE_MS = 5 * 60_000
const RECONNECT_MS = 1000

export function createHttpSessions(
  createServer: () => McpServer,
  { clock, maxBytes }: { readonly clock: Clock; readonly maxBytes: number },
): HttpSessions {
  const sessions = new Map<string, Session>()
  const end = async (id: string): Promise<void> => {
    const session = sessions.get(id)
    sessions.delete(id)
    await session?.server.close()
  }
  const open = async (request: Request): Promise<Response> => {
    const [oldest] = [...sessions].toSorted(([, a], [, b]) => a.lastUsed - b.lastUsed)
    if (sessions.size >= MAX_SESSIONS && oldest !== undefined) {
      if (clock.now() - oldest[1].lastUsed < IDLE_MS)
        return refusal(503, "Too many clients are connected. Try again later.")
      await end(oldest[0])
    }
    const server = createServer()
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, { server, transport, lastUsed: clock.now() }),
      onsessionclosed: end,
      eventStore: createEventStore(),
      retryInterval: RECONNECT_MS,
      maxRequestBodySize: maxBytes,
    })
    await server.connect(transport)
    const response = await transport.handleRequest(request)
    if (transport.sessionId === undefined) await server.close()
    return response
  }
  return {
    handle: async (request) => {
      const id = request.headers.get("mcp-session-id")
      if (id === null) {
        const isNew = request.method === "POST" && isInitializeRequest(parseJson(await request.clone().text()))
        return isNew
          ? await open(request)
          : refusal(400, "Send initialize first, then its Mcp-Session-Id with each request.")
      }
      const session = sessions.get(id)
      if (session === undefined) return refusal(404, "This session has ended. Send initialize for a new one.")
      session.lastUsed = clock.now()
      return await session.transport.handleRequest(request)
    },
    close: async () => {
      await Promise.all([...sessions.keys()].map(end))
    },
  }
}

/** An error in the form that clients of the protocol read. */
export function refusal(status: number, message: string): Response {
  const body = { jsonrpc: "2.0", id: null, error: { code: status === 404 ? -32_001 : -32_000, message } }
  return Response.json(body, { status })
}
