import type { Environment } from "../../config/environment.ts"
import { isLocalAddress } from "../local/local-address.ts"
import { checkProxiedHost, checkUrl, guardedLookup } from "./address-guard.ts"
import type { LookupGuard } from "./address-guard.ts"
import { connectionSettingsFor } from "./connection-settings.ts"
import type { ConnectionSettingsOptions } from "./connection-settings.ts"
import { openHttpConnection } from "./http-connection.ts"
import type { HttpConnection, HttpResponse, HttpTimeouts } from "./http-connection.ts"
import type { TlsTrust } from "./tls-trust.ts"

/** `allowsPrivate`: hosts that may have a private address, because the user configured them. Metadata services are refused everywhere. */
export interface GuardedFetchOptions extends LookupGuard {
  readonly environment: Environment
  readonly trust?: TlsTrust & { readonly cert?: string; readonly key?: string }
  readonly caBundle?: ConnectionSettingsOptions["caBundle"]
  readonly timeouts: HttpTimeouts
  /** Limit for one response, or for one event of an event stream. */
  readonly maxBytes: number
}

/** `fetch` that follows the proxy and TLS settings, connects only to addresses that were checked, and limits what it receives. */
export interface GuardedFetch {
  readonly fetch: (input: string | URL, init?: RequestInit) => Promise<Response>
  readonly close: () => void
}

const MAX_REDIRECTS = 5

export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const connections = new Map<string, HttpConnection>()
  const lookup = guardedLookup(options)
  const connectionTo = async (url: URL): Promise<HttpConnection> => {
    const { environment, caBundle } = options
    const settings = connectionSettingsFor(url, { environment, local: isLocalAddress(url.href), caBundle })
    if (!settings.ok) throw new Error(settings.error)
    if (settings.value.proxy !== undefined) await checkProxiedHost(url.hostname, options)
    const known = connections.get(url.origin)
    if (known !== undefined) return known
    const trust = { ...settings.value.trust, ...options.trust }
    const opened = openHttpConnection(new URL(url.origin), { ...settings.value, trust, lookup })
    connections.set(url.origin, opened)
    return opened
  }
  const send = async (request: Request, url: URL, body: string): Promise<HttpResponse> => {
    checkUrl(url, { allowsPrivate: options.allowsPrivate(url.hostname.replace(/^\[|\]$/gu, "")) })
    const path = `${url.pathname}${url.search}`
    const how = {
      headers: { "user-agent": "hermes-agent", ...Object.fromEntries(request.headers) },
      signal: request.signal,
      timeouts: options.timeouts,
    }
    const connection = await connectionTo(url)
    switch (request.method) {
      case "GET":
        return await connection.get(path, how)
      case "DELETE":
        return await connection.delete(path, how)
      default:
        return await connection.post(path, body, how)
    }
  }
  const followed = async (request: Request, redirects = 0): Promise<Response> => {
    const url = new URL(request.url)
    const body = await request.clone().text()
    const response = await send(request, url, body)
    const location = response.headers["location"]
    const isRedirect = [301, 302, 303, 307, 308].includes(response.status) && location !== undefined
    if (!isRedirect || request.redirect === "manual") return webResponse(response, url, options)
    if (request.redirect === "error") throw new TypeError(`${url.origin} redirects to another address`)
    if (redirects >= MAX_REDIRECTS) throw new TypeError(`${url.origin} redirects more than ${MAX_REDIRECTS} times`)
    return await followed(
      redirected({ request, body, target: new URL(location, url), status: response.status }),
      redirects + 1,
    )
  }
  return {
    fetch: (input, init) => followed(new Request(input, init)),
    close: () => {
      for (const connection of connections.values()) connection.close()
      connections.clear()
    },
  }
}

/**
 * POST becomes GET except for 307 and 308, as in browsers. Another origin receives only what the protocol needs: any header that the user
 * configured may be a key.
 */
function redirected(hop: {
  readonly request: Request
  readonly body: string
  readonly target: URL
  readonly status: number
}): Request {
  const { request, body, target, status } = hop
  const keepsMethod = status === 307 || status === 308 || request.method === "GET"
  const isSameOrigin = target.origin === new URL(request.url).origin
  const headers = [...request.headers].filter(([name]) => isSameOrigin || ANY_ORIGIN.has(name))
  const isPost = keepsMethod && request.method !== "GET"
  return new Request(target, {
    method: keepsMethod ? request.method : "GET",
    headers,
    signal: request.signal,
    ...(isPost ? { body } : {}),
  })
}

const ANY_ORIGIN: ReadonlySet<string> = new Set([
  "accept",
  "content-type",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
])

function webResponse(response: HttpResponse, url: URL, { maxBytes }: GuardedFetchOptions): Response {
  const headers = new Headers()
  for (const [name, value] of Object.entries(response.headers)) if (value !== undefined) headers.set(name, value)
  const isEmpty = response.status === 204 || response.status === 205 || response.status === 304
  const isStream = (headers.get("content-type") ?? "").startsWith("text/event-stream")
  const limited = limitBytes(response.body, { maxBytes, perEvent: isStream })
  if (isEmpty)
    response.body[Symbol.asyncIterator]()
      .return?.()
      .catch(() => undefined)
  const answer = new Response(isEmpty ? null : ReadableStream.from(limited), { status: response.status, headers })
  Object.defineProperty(answer, "url", { value: url.href })
  return answer
}

/** Ends a response that is too long. In an event stream only the length of one event counts. */
async function* limitBytes(
  body: AsyncIterable<Uint8Array>,
  { maxBytes, perEvent }: { readonly maxBytes: number; readonly perEvent: boolean },
): AsyncGenerator<Uint8Array, void, void> {
  let received = 0
  for await (const chunk of body) {
    received += chunk.length
    if (received > maxBytes) throw new Error(`the server sent more than ${Math.round(maxBytes / 1_000_000)} MB at once`)
    // An empty line ends an event.
    if (perEvent && /\r?\n\r?\n/u.test(Buffer.from(chunk).toString("latin1"))) received = 0
    yield chunk
  }
}
