import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http"

import type { ProxyVariables } from "./proxy.ts"

/**
 * One keep-alive connection pool per endpoint over `node:http(s)`. Measured against `fetch`: the same features, without the
 * tens of milliseconds that loading undici adds to the first request of a process.
 */
export interface HttpConnection {
  post(path: string, body: string, options: SendOptions): Promise<HttpResponse>
  get(path: string, options: SendOptions): Promise<HttpResponse>
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

/** Behind a proxy nothing else is connected to, so a connection that fails is the proxy's. */
class ProxyUnreachableError extends Error {
  readonly code = "ERR_PROXY_UNREACHABLE"
}

function isUnreachable(error: Error): boolean {
  return "syscall" in error && (error.syscall === "connect" || error.syscall === "getaddrinfo")
}

export interface ConnectionOptions {
  readonly proxy?: ProxyVariables
  /** Neither its sockets nor its timers keep the process alive. */
  readonly background?: boolean
}

export function openHttpConnection(base: URL, options: ConnectionOptions = {}): HttpConnection {
  const secure = base.protocol === "https:"
  // `import "node:http"` as a module touches all its exports, the WebSocket of undici among them: 20 ms of a start.
  const http = process.getBuiltinModule("node:http")
  const https = secure ? process.getBuiltinModule("node:https") : undefined
  const agentOptions = {
    keepAlive: true,
    keepAliveMsecs: 30_000,
    maxSockets: 8,
    ...(options.proxy === undefined ? {} : { proxyEnv: { ...options.proxy } }),
  }
  const agent = https === undefined ? new http.Agent(agentOptions) : new https.Agent(agentOptions)
  const request = https?.request ?? http.request

  const send = (method: "GET" | "POST", path: string, { body, ...how }: SendOptions & { readonly body?: string }) =>
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
      outgoing.on("error", (error) => {
        reject(options.proxy !== undefined && isUnreachable(error) ? new ProxyUnreachableError(error.message) : error)
      })
      outgoing.end(body)
    })

  return {
    post: (path, body, how) => send("POST", path, { ...how, body }),
    get: (path, how) => send("GET", path, how),
    close: () => {
      agent.destroy()
    },
  }
}

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
