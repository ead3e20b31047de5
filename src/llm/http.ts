import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http"

/**
 * One keep-alive connection pool per endpoint over `node:http(s)`. Measured against `fetch`: the same features, without the
 * tens of milliseconds that loading undici adds to the first request of a process.
 */
export interface HttpConnection {
  post(path: string, body: string, options: PostOptions): Promise<HttpResponse>
  close(): void
}

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly timeouts: HttpTimeouts
}

export interface HttpTimeouts {
  readonly connectMs: number
  /** Longest silence while waiting for the next bytes; 0 waits for ever. */
  readonly idleMs: number
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Ends with the body; throws when the connection is lost before that, on a time-out and on abort. */
  readonly body: AsyncIterable<Uint8Array>
}

/** The peer was silent for too long. `code` reads like a system error, so that classification has one form to look at. */
export class HttpTimeoutError extends Error {
  readonly code = "ETIMEDOUT"
}

export function openHttpConnection(base: URL): HttpConnection {
  const secure = base.protocol === "https:"
  // `import "node:http"` as a module touches all its exports, the WebSocket of undici among them: 20 ms of a start.
  const http = process.getBuiltinModule("node:http")
  const https = secure ? process.getBuiltinModule("node:https") : undefined
  const agentOptions = { keepAlive: true, keepAliveMsecs: 30_000, maxSockets: 8 }
  const agent = https === undefined ? new http.Agent(agentOptions) : new https.Agent(agentOptions)
  const prefix = base.pathname.replace(/\/+$/, "")
  const request = https?.request ?? http.request

  return {
    post: (path, body, options) =>
      new Promise((resolve, reject) => {
        const target: RequestOptions = {
          agent,
          method: "POST",
          host: base.hostname.replace(/^\[|\]$/g, ""),
          port: base.port === "" ? undefined : base.port,
          path: `${prefix}${path}${base.search}`,
          headers: { ...options.headers, "content-length": Buffer.byteLength(body) },
          signal: options.signal,
        }
        const outgoing = request(target, (incoming) => {
          resolve({
            status: incoming.statusCode ?? 0,
            headers: singleHeaders(incoming),
            body: readBody(incoming, outgoing),
          })
        })
        watchTimeouts(outgoing, options.timeouts)
        outgoing.on("error", reject)
        outgoing.end(body)
      }),
    close: () => {
      agent.destroy()
    },
  }
}

/** Connecting has a limit of its own; afterwards only silence counts, so a slow but living answer is never cut. */
function watchTimeouts(outgoing: ClientRequest, timeouts: HttpTimeouts): void {
  let incoming: IncomingMessage | undefined
  outgoing.once("response", (response) => {
    incoming = response
  })
  outgoing.on("socket", (socket) => {
    const giveUp = (what: string): void => {
      // Once the answer has begun, its reader is the one to be told; from the request it would only hear "aborted".
      const target = incoming ?? outgoing
      target.destroy(new HttpTimeoutError(what))
    }
    if (socket.connecting) {
      const timer = setTimeout(() => {
        giveUp("the connection was not accepted in time")
      }, timeouts.connectMs)
      const settled = (): void => {
        clearTimeout(timer)
      }
      socket.once("connect", settled)
      outgoing.once("close", settled)
    }
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
