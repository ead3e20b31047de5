import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from "node:http"
import { isIP, Socket } from "node:net"
import type { LookupFunction } from "node:net"

import type { IdleSockets } from "./idle-sockets.ts"
import { ProxyError, httpProxyError, proxyTimedOut } from "./proxy-error.ts"
import type { Proxy, SocksProxy } from "./proxy.ts"
import { requestBody } from "./request-body.ts"
import type { RequestBody } from "./request-body.ts"
import type { TlsTrust } from "./tls-trust.ts"

/**
 * A keep-alive connection pool for one endpoint, over `node:http(s)`. `fetch` is not used because loading undici adds tens of
 * milliseconds to the first request of a process.
 */
export interface HttpConnection {
  post(path: string, body: string | RequestBody, options: SendOptions): Promise<HttpResponse>
  get(path: string, options: SendOptions): Promise<HttpResponse>
  put(path: string, options: SendOptions): Promise<HttpResponse>
  delete(path: string, options: SendOptions): Promise<HttpResponse>
  close(): void
}

export interface SendOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly timeouts: HttpTimeouts
}

export interface HttpTimeouts {
  readonly connectMs: number
  /** From the request to the first bytes of the response; 0 means no limit. */
  readonly firstByteMs?: number
  /** Maximum time between two chunks of the response; 0 means no limit. */
  readonly idleMs: number
  /** From the request to the last byte of the response; 0 or absent means no limit. */
  readonly totalMs?: number
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Throws when the connection is lost before the end, on a timeout and on abort. */
  readonly body: AsyncIterable<Uint8Array>
}

/** A timeout. It has a `code` like a system error, so that failures are classified by code only. */
export class HttpTimeoutError extends Error {
  readonly code: "ETIMEDOUT" | "ERR_TOTAL_TIME"

  /** `ERR_TOTAL_TIME`: data kept arriving, but the whole response took longer than allowed. */
  constructor(message: string, code: HttpTimeoutError["code"] = "ETIMEDOUT") {
    super(message)
    this.code = code
  }
}

/** Proxy and TLS trust of a connection; see `connectionSettingsFor`. */
export interface ConnectionSettings {
  readonly proxy?: Proxy
  readonly trust?: TlsTrust
}

export interface HttpConnectionOptions extends ConnectionSettings {
  /** Its sockets and timers do not keep the process alive. */
  readonly background?: boolean
  /** Limits how many connections of several pools stay open. */
  readonly idleSockets?: IdleSockets | undefined
  /** Resolves host names, and may refuse addresses. Not used where a proxy resolves them. */
  readonly lookup?: LookupFunction
}

export function openHttpConnection(base: URL, options: HttpConnectionOptions = {}): HttpConnection {
  const { proxy } = options
  const secure = base.protocol === "https:"
  // `import "node:http"` evaluates all its exports, among them undici's WebSocket, which costs 20 ms at start-up.
  const http = process.getBuiltinModule("node:http")
  const https = secure ? process.getBuiltinModule("node:https") : undefined
  const agentOptions = {
    keepAlive: true,
    keepAliveMsecs: 30_000,
    maxSockets: 8,
    ...(proxy?.kind === "http" ? { proxyEnv: { ...proxy.variables } } : {}),
    ...(options.lookup === undefined || proxy !== undefined ? {} : { lookup: options.lookup }),
  }
  const agent =
    https === undefined ? new http.Agent(agentOptions) : new https.Agent({ ...agentOptions, ...options.trust })
  if (options.idleSockets !== undefined) limitIdleSockets(agent, options.idleSockets)
  let opening = new AbortController()
  if (proxy?.kind === "socks")
    connectAgentThroughSocks(agent, proxy, { base, ...options, signal: () => opening.signal })
  const request = https?.request ?? http.request

  const send = (method: Method, path: string, { body, ...how }: SendOptions & { readonly body?: RequestBody }) =>
    new Promise<HttpResponse>((resolve, reject) => {
      const target: RequestOptions = {
        agent,
        method,
        host: base.hostname.replace(/^\[|\]$/g, ""),
        port: base.port === "" ? undefined : base.port,
        path: pathBelow(base, path),
        headers: { ...how.headers, ...(body === undefined ? {} : { "content-length": body.byteLength }) },
        signal: how.signal,
      }
      const outgoing = request(target, (incoming) => {
        resolve({
          status: incoming.statusCode ?? 0,
          headers: singleHeaders(incoming),
          body: readBody(incoming, outgoing),
        })
      })
      watchTimeouts(outgoing, how.timeouts, options)
      watchConnecting(outgoing, agent, { ...how, ...options, reject })
      outgoing.once("socket", (socket) => {
        options.idleSockets?.remove(socket)
        // Node ties the signal to the socket. An abort after the response, before the pool has the socket, must not end the process.
        if (!socket.listeners("error").includes(ignoreLateError)) socket.on("error", ignoreLateError)
      })
      outgoing.on("error", (error) => {
        reject(
          proxy === undefined || error instanceof ProxyError
            ? error
            : (httpProxyError(error, proxy, { tunnel: secure }) ?? error),
        )
      })
      // Node sends what is written in one tick with one system call.
      for (const chunk of body?.chunks ?? []) outgoing.write(chunk)
      outgoing.end()
    })

  return {
    post: (path, body, how) =>
      send("POST", path, { ...how, body: typeof body === "string" ? requestBody([Buffer.from(body)]) : body }),
    get: (path, how) => send("GET", path, how),
    put: (path, how) => send("PUT", path, how),
    delete: (path, how) => send("DELETE", path, how),
    close: () => {
      opening.abort()
      opening = new AbortController()
      agent.destroy()
    },
  }
}

function ignoreLateError(): void {
  // A request that still runs reports it.
}

/** The agent's own listener comes first: it may give the connection to a request that waits for one. */
function limitIdleSockets(agent: Agent, idleSockets: IdleSockets): void {
  const watched = new WeakSet<Socket>()
  agent.on("free", (socket: Socket) => {
    if (!Object.values(agent.freeSockets).some((sockets) => sockets?.includes(socket) === true)) return
    idleSockets.add(socket)
    if (watched.has(socket)) return
    watched.add(socket)
    socket.once("close", () => {
      idleSockets.remove(socket)
    })
  })
}

type Method = "GET" | "POST" | "PUT" | "DELETE"

/** Makes the agent open new connections through the SOCKS proxy; it still pools them as usual. */
function connectAgentThroughSocks(
  agent: Agent,
  proxy: SocksProxy,
  options: HttpConnectionOptions & { readonly base: URL; readonly signal: () => AbortSignal },
): void {
  const { base, background = false } = options
  const secure = base.protocol === "https:"
  const host = base.hostname.replace(/^\[|\]$/g, "")
  const port = Number(base.port === "" ? (secure ? 443 : 80) : base.port)
  const tls = { ...options.trust, host, servername: isIP(host) === 0 ? host : "" }
  agent.createConnection = (_wanted, opened) => {
    const target = { host, port, signal: options.signal(), background, ...(secure ? { tls } : {}) }
    import("./socks.ts")
      .then((socks) => socks.connectThroughSocks(proxy, target))
      .then(
        (socket) => opened?.(null, socket),
        // Node ignores the socket when there is an error.
        (error: unknown) => opened?.(error instanceof Error ? error : new Error(String(error)), new Socket()),
      )
    return undefined
  }
}

/**
 * Handles abort and timeout until the request has a socket, because Node handles neither in that phase: opening a connection
 * through a proxy may take a long time. A request that only waits for a free connection of the pool does not time out.
 */
function watchConnecting(
  outgoing: ClientRequest,
  agent: Agent,
  options: HttpConnectionOptions & SendOptions & { readonly reject: (error: unknown) => void },
): void {
  const { proxy, signal, timeouts, background, reject } = options
  const giveUp = (error: unknown): void => {
    reject(error)
    outgoing.destroy()
  }
  const onAbort = (): void => {
    giveUp(signal.reason)
  }
  const onTimeout = (): void => {
    const queued = Object.values(agent.requests).some((queue) => queue?.includes(outgoing) === true)
    if (queued) timer?.refresh()
    else if (proxy !== undefined) giveUp(proxyTimedOut(proxy))
  }
  const timer = proxy === undefined ? undefined : setTimeout(onTimeout, proxyConnectMs(proxy, timeouts))
  if (background === true) timer?.unref()
  const settled = (): void => {
    clearTimeout(timer)
    signal.removeEventListener("abort", onAbort)
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener("abort", onAbort, { once: true })
  outgoing.once("socket", settled)
  outgoing.once("close", settled)
}

/** An HTTP proxy responds quickly, so a slow one is probably not a proxy. A SOCKS proxy may connect through distant hops. */
function proxyConnectMs(proxy: Proxy, { connectMs }: HttpTimeouts): number {
  return proxy.kind === "http" ? Math.min(connectMs, HTTP_PROXY_CONNECT_MS) : connectMs
}

const HTTP_PROXY_CONNECT_MS = 10_000

/** Appends the query of the base URL (an API version, a deployment) to every request. */
function pathBelow(base: URL, path: string): string {
  const joined = `${base.pathname.replace(/\/+$/, "")}${path}`
  if (base.search === "") return joined
  return joined.includes("?") ? `${joined}&${base.search.slice(1)}` : `${joined}${base.search}`
}

/** Enforces separate limits for connecting, the first byte, idle time and the whole response. */
function watchTimeouts(
  outgoing: ClientRequest,
  timeouts: HttpTimeouts,
  { background = false }: HttpConnectionOptions,
): void {
  const startTimer = (over: () => void, ms: number): NodeJS.Timeout => {
    const timer = setTimeout(over, ms)
    return background ? timer.unref() : timer
  }
  let incoming: IncomingMessage | undefined
  outgoing.once("response", (response) => {
    incoming = response
  })
  outgoing.on("socket", (socket) => {
    if (background) socket.unref()
    const giveUp = (message: string, code?: HttpTimeoutError["code"]): void => {
      // Once the response has begun, destroy that: destroying the request would only report "aborted" to its reader.
      const target = incoming ?? outgoing
      target.destroy(new HttpTimeoutError(message, code))
    }
    if (socket.connecting) {
      const timer = startTimer(() => giveUp("the connection was not accepted in time"), timeouts.connectMs)
      const settled = (): void => {
        clearTimeout(timer)
      }
      socket.once("connect", settled)
      outgoing.once("close", settled)
    }
    const limit = (ms: number | undefined, over: () => void, ...ends: readonly ("response" | "close")[]): void => {
      if (ms === undefined || ms <= 0) return
      const timer = startTimer(over, ms)
      for (const end of ends)
        outgoing.once(end, () => {
          clearTimeout(timer)
        })
    }
    limit(timeouts.firstByteMs, () => giveUp("no response began in time"), "response", "close")
    limit(timeouts.totalMs, () => giveUp("the response was not complete in time", "ERR_TOTAL_TIME"), "close")
    if (timeouts.idleMs > 0) {
      outgoing.setTimeout(timeouts.idleMs, () => {
        giveUp(`no bytes arrived for ${Math.round(timeouts.idleMs / 1000)} s`)
      })
    }
  })
}

async function* readBody(incoming: IncomingMessage, outgoing: ClientRequest): AsyncGenerator<Uint8Array, void, void> {
  try {
    for await (const chunk of incoming) {
      if (chunk instanceof Uint8Array) yield chunk
    }
    if (!incoming.complete) throw new Error("the connection was closed before the response was complete")
  } finally {
    // When the reader stops early, do not return a half-read connection to the pool.
    if (!incoming.complete) outgoing.destroy()
  }
}

function singleHeaders(incoming: IncomingMessage): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(incoming.headers)) {
    headers[name] = Array.isArray(value) ? value.join(", ") : value
  }
  return headers
}
