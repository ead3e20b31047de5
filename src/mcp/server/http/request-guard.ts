import { timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { isIP } from "node:net"

import { sha256Hex } from "../../../base/random-and-hash.ts"

/** Why a request is refused before it is read. */
export interface Refusal {
  readonly status: 401 | 403 | 404 | 405
  readonly message: string
}

export interface RequestGuardOptions {
  readonly path: string
  readonly apiKey: string
  /** The address that the server listens on. */
  readonly host: string
  /** Further names under which clients reach the server, for example that of a proxy; with a port, only that one. */
  readonly allowedHosts: readonly string[]
}

/** Where no program on another machine can connect. */
export const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"])

const ALL_INTERFACES: ReadonlySet<string> = new Set(["0.0.0.0", "::"])

/** Of the protocol. */
export const METHODS: readonly string[] = ["GET", "POST", "DELETE"]

/**
 * A web page can make a browser send requests to this machine under a name of its own (DNS rebinding). Such a request names that page in
 * `Host` or `Origin`. So `Host` must name this server with its port, or on all interfaces, where ports are often forwarded, be a plain
 * address; and `Origin` must be the same server. The key is compared in constant time.
 */
export function createRequestGuard({
  path,
  apiKey,
  host,
  allowedHosts,
}: RequestGuardOptions): (request: IncomingMessage) => Refusal | undefined {
  const own = new Set([...LOOPBACK_HOSTS, host.toLowerCase()])
  const allowed = new Set(allowedHosts.map((name) => name.toLowerCase()))
  const isAllowed = (address: URL): boolean => allowed.has(hostname(address)) || allowed.has(address.host)
  const isOwn = (address: URL, port: number | undefined): boolean => {
    const name = hostname(address)
    if (ALL_INTERFACES.has(host)) return own.has(name) || isIP(name) !== 0
    return own.has(name) && Number(address.port || HTTP_PORT) === port
  }
  const expected = Buffer.from(sha256Hex(apiKey))
  return ({ headers, url = "", method = "", socket: { localPort } }) => {
    const named = parseAddress(`http://${headers.host ?? ""}`)
    if (named === undefined || !(isAllowed(named) || isOwn(named, localPort)))
      return {
        status: 403,
        message: "The Host header does not name this server and its port. Allow it with --allow-host.",
      }
    const origin = headers.origin === undefined ? named : parseAddress(headers.origin)
    if (origin === undefined || !(origin.host === named.host || isAllowed(origin)))
      return { status: 403, message: "Requests from this origin are not allowed." }
    if (url.split("?", 1)[0] !== path) return { status: 404, message: `Not found. The endpoint is ${path}.` }
    const [, key = ""] = /^Bearer +(\S+)$/iu.exec(headers.authorization ?? "") ?? []
    if (!timingSafeEqual(Buffer.from(sha256Hex(key)), expected))
      return { status: 401, message: "Send the API key of Hermes as a bearer token." }
    if (!METHODS.includes(method)) return { status: 405, message: `The methods are ${METHODS.join(", ")}.` }
    return undefined
  }
}

/** An address without a port has this one. */
const HTTP_PORT = 80

function parseAddress(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

/** Without brackets around an IPv6 address. */
function hostname({ hostname: name }: URL): string {
  return name.replace(/^\[(.*)\]$/u, "$1")
}
