import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"

import { createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server"
import type { McpRequestContext, McpServer } from "@modelcontextprotocol/server"

import type { Clock } from "../../../base/clock.ts"
import { fail, ok } from "../../../base/result.ts"
import type { Result } from "../../../base/result.ts"
import { errorCode, errorMessage, explainSystemError } from "../../../base/system-error.ts"
import { limitConnections } from "./connection-limit.ts"
import { createHttpSessions, refusal } from "./http-sessions.ts"
import { createRequestGuard, METHODS } from "./request-guard.ts"
import type { RequestGuardOptions } from "./request-guard.ts"
import { sendResponse, webRequest } from "./web-request.ts"

export interface HttpEndpointOptions extends Omit<RequestGuardOptions, "path"> {
  readonly port: number
  /** Creates the server for a client, or for a single request of a later protocol revision. */
  readonly createServer: (context: Pick<McpRequestContext, "era">) => McpServer
  readonly clock: Clock
  readonly onError: (message: string) => void
}

export interface HttpEndpoint {
  readonly url: string
  /** Ends all sessions and requests. */
  close(): Promise<void>
}

const PATH = "/mcp"
const MAX_BODY_BYTES = 1024 * 1024
const MAX_CONNECTIONS = 256
/** How long a client may take to send a request. Answers may take any time. */
const RECEIVE_LIMITS = { headersTimeout: 10_000, requestTimeout: 60_000, connectionsCheckingInterval: 5000 }

/** MCP over streamable HTTP. Every request needs the API key. */
export async function openHttpEndpoint(options: HttpEndpointOptions): Promise<Result<HttpEndpoint>> {
  const { host, port, clock, onError } = options
  const guard = createRequestGuard({ ...options, path: PATH })
  const modern = createMcpHandler(options.createServer, {
    legacy: "reject",
    maxRequestBodySize: MAX_BODY_BYTES,
    onerror: (error) => onError(error.message),
  })
  const sessions = createHttpSessions(() => options.createServer({ era: "legacy" }), {
    clock,
    maxBytes: MAX_BODY_BYTES,
  })

  const answer = async (request: IncomingMessage, signal: AbortSignal): Promise<Response> => {
    knownClients.add(request.socket)
    const received = await webRequest(request, { maxBytes: MAX_BODY_BYTES, signal })
    if (received === undefined) return refusal(413, `The request is longer than ${MAX_BODY_BYTES} bytes.`)
    return (await isLegacyRequest(received)) ? await sessions.handle(received) : await modern.fetch(received)
  }
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const disconnected = new AbortController()
    response.once("close", () => disconnected.abort())
    const refused = guard(request)
    const answered =
      refused === undefined ? await answer(request, disconnected.signal) : refusal(refused.status, refused.message)
    response.setHeader("x-content-type-options", "nosniff")
    if (refused?.status === 401) response.setHeader("www-authenticate", 'Bearer realm="hermes"')
    if (refused?.status === 405) response.setHeader("allow", METHODS.join(", "))
    // The rest of a body that was not read would be taken for the next request.
    if (refused !== undefined || !request.complete) response.setHeader("connection", "close")
    await sendResponse(answered, response)
  }
  const server = createServer(RECEIVE_LIMITS, (request, response) => {
    handle(request, response).catch((error: unknown) => {
      // A client may disconnect at any time.
      if (response.destroyed) return
      onError(errorMessage(error))
      if (response.headersSent) response.destroy()
      else response.writeHead(500, { connection: "close" }).end()
    })
  })
  // Node closes such a connection without an answer.
  server.on("connect", (_request, socket) => {
    socket.on("error", () => socket.destroy())
    socket.end(`HTTP/1.1 405 Method Not Allowed\r\nAllow: ${METHODS.join(", ")}\r\nConnection: close\r\n\r\n`)
  })
  const knownClients = limitConnections(server, MAX_CONNECTIONS)
  const { promise: listening, resolve } = Promise.withResolvers<Result<undefined>>()
  server.once("error", (error) => resolve(fail(listenFailure(error, { host, port }))))
  server.listen(port, host, () => resolve(ok(undefined)))
  const listened = await listening
  if (!listened.ok) return listened
  server.on("error", (error) => onError(error.message))
  const address = server.address()
  const boundPort = typeof address === "object" && address !== null ? address.port : port
  return ok({
    url: `http://${host.includes(":") ? `[${host}]` : host}:${boundPort}${PATH}`,
    close: async () => {
      const closed = new Promise((resolveClosed) => server.close(resolveClosed))
      await Promise.all([sessions.close(), modern.close()])
      server.closeAllConnections()
      await closed
    },
  })
}

function listenFailure(error: unknown, { host, port }: { readonly host: string; readonly port: number }): string {
  switch (errorCode(error)) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is in use. Choose another one with --port, or stop the program that uses it.`
    case "EACCES":
      return `This account may not listen on port ${port}. Choose a port above 1023 with --port.`
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${host} is not an address of this machine. Choose one with --host, for example 127.0.0.1.`
    default:
      return `Cannot listen on ${host}, port ${port}: ${explainSystemError(error)}`
  }
}
