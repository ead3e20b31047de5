import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from "node:http"
import { isIP, Socket } from "node:net"

import { ProxyError, httpProxyError, proxySilent } from "./proxy-error.ts"
import type { Proxy, SocksProxy } from "./proxy.ts"
import type { Trust } from "./trust.ts"

/**
 * One keep-alive connection pool per endpoint over `node:http(s)`. Measured against `fetch`: the same features, without the
 * tens of milliseconds that loading undici adds to the first request of a process.
 */
export interface HttpConnection {
  post(path: string, body: string, options: SendOptions): Promise<HttpResponse>
  get(path: string, options: SendOptions): Promise<HttpResponse>
  put(path: string, options: SendOptions): Promise<HttpResponse>
  close(): void
}

export interface SendOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly timeouts: HttpTimeouts
}

export interface HttpTimeouts {
  readonly connectMs: number
  /** From the request to the first bytes of an answer; 0 waits for ever. */
  readonly firstByteMs?: number
  /** Longest silence while waiting for the next bytes; 0 waits for ever. */
  readonly idleMs: number
  /** From the request to the last byte of the answer; 0 or absent waits for ever. */
  readonly totalMs?: number
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Ends with the body; throws when the connection is lost before that, on a time-out and on abort. */
  readonly body: AsyncIterable<Uint8Array>
}

/** The peer was silent for too long. `code` reads like a system error, so that classification has one form to look at. */
export class HttpTimeoutError extends Error {
  readonly code: "ETIMEDOUT" | "ERR_TOTAL_TIME"

  /** `ERR_TOTAL_TIME`: it was not silent at all, but the answer took longer than allowed. */
  constructor(what: string, code: HttpTimeoutError["code"] = "ETIMEDOUT") {
    super(what)
    this.code = code
  }
}

/** How an address is reached; `wayTo` finds it out. */
export interface Way {
  readonly proxy?: Proxy
  readonly trust?: Trust
}

export interface ConnectionOptions extends Way {
  /** Neither its sockets nor its timers keep the process alive. */
  readonly background?: boolean
}

export function openHttpConnection(base: URL, options: ConnectionOptions = {}): HttpConnection {
  const { proxy } = options
  const secure = base.protocol === "https:"
  // `import "node:http"` as a module touches all its exports, the WebSocket of undici among them: 20 ms of a start.
  const http = process.getBuiltinModule("node:http")
  const https = secure ? process.getBuiltinModule("node:https") : undefined
  const agentOptions = {
    keepAlive: true,
    keepAliveMsecs: 30_000,
    maxSockets: 8,
    ...(proxy?.kind === "http" ? { proxyEnv: { ...proxy.variables } } : {}),
  }
  const agent =
    https === undefined ? new http.Agent(agentOptions) : new https.Agent({ ...agentOptions, ...options.trust })
  let opening = new AbortController()
  if (proxy?.kind === "socks") leadThroughSocks(agent, proxy, { base, ...options, signal: () => opening.signal })
  const request = https?.request ?? http.request

  const send = (method: Method, path: string, { body, ...how }: SendOptions & { readonly body?: string }) =>
    new Promise<HttpResponse>((resolve, reject) => {
      const target: RequestOptions = {
        agent,
        method,
        host: base.hostname.replace(/^\[|\]$/g, ""),
        port: base.port === "" ? undefined : base.port,
        path: pathBelow(base, path),
        headers: { ...how.headers, ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }) },
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
      watchOpening(outgoing, agent, { ...how, ...options, reject })
      outgoing.on("error", (error) => {
        reject(
          proxy === undefined || error instanceof ProxyError
            ? error
            : (httpProxyError(error, proxy, { tunnel: secure }) ?? error),
        )
      })
      outgoing.end(body)
    })

  return {
    post: (path, body, how) => send("POST", path, { ...how, body }),
    get: (path, how) => send("GET", path, how),
    put: (path, how) => send("PUT", path, how),
    close: () => {
      opening.abort()
      opening = new AbortController()
      agent.destroy()
    },
  }
}

type Method = "GET" | "POST" | "PUT"

/** The agent keeps its connections as always; only how it comes to a new one is another matter. */
function leadThroughSocks(
  agent: Agent,
  proxy: SocksProxy,
  options: ConnectionOptions & { readonly base: URL; readonly signal: () => AbortSignal },
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
        // Beside an error nobody looks at the socket.
        (error: unknown) => opened?.(error instanceof Error ? error : new Error(String(error)), new Socket()),
      )
    return undefined
  }
}

/**
 * Until a request has a connection, Node hears neither an abort nor the clock: behind a proxy a connection may take its time to be
 * opened, and with all connections busy a request waits for one of them (which is no fault of the proxy).
 */
function watchOpening(
  outgoing: ClientRequest,
  agent: Agent,
  options: ConnectionOptions & SendOptions & { readonly reject: (error: unknown) => void },
): void {
  const { proxy, signal, timeouts, background, reject } = options
  const giveUp = (error: unknown): void => {
    reject(error)
    outgoing.destroy()
  }
  const onAbort = (): void => {
    giveUp(signal.reason)
  }
  const onSilence = (): void => {
    const queued = Object.values(agent.requests).some((queue) => queue?.includes(outgoing) === true)
    if (queued) timer?.refresh()
    else if (proxy !== undefined) giveUp(proxySilent(proxy))
  }
  const timer = proxy === undefined ? undefined : setTimeout(onSilence, openingMs(proxy, timeouts))
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

/** What listens there may be no proxy at all: one for HTTP is nearby and soon says something. SOCKS may lead through half the world. */
function openingMs(proxy: Proxy, { connectMs }: HttpTimeouts): number {
  return proxy.kind === "http" ? Math.min(connectMs, HTTP_PROXY_OPENS_MS) : connectMs
}

const HTTP_PROXY_OPENS_MS = 10_000

/** A query in the address (a version, a deployment) goes with every request. */
function pathBelow(base: URL, path: string): string {
  const whole = `${base.pathname.replace(/\/+$/, "")}${path}`
  if (base.search === "") return whole
  return whole.includes("?") ? `${whole}&${base.search.slice(1)}` : `${whole}${base.search}`
}

/** Connecting, the first bytes, silence and the whole each have a limit of their own; a slow but living answer has the longest. */
function watchTimeouts(
  outgoing: ClientRequest,
  timeouts: HttpTimeouts,
  { background = false }: ConnectionOptions,
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
    const giveUp = (what: string, code?: HttpTimeoutError["code"]): void => {
      // Once the answer has begun, its reader is the one to be told; from the request it would only hear "aborted".
      const target = incoming ?? outgoing
      target.destroy(new HttpTimeoutError(what, code))
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
    limit(timeouts.firstByteMs, () => giveUp("no answer began in time"), "response", "close")
    limit(timeouts.totalMs, () => giveUp("the answer was not complete in time", "ERR_TOTAL_TIME"), "close")
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
    if (!incoming.complete) throw new Error("the connection was closed before the answer was complete")
  } finally {
    // A reader that stops early must not leave the connection half read in the pool.
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
