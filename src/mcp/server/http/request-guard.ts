import { timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { isIP } from "node:net"

import { sha256Hex } from "../../../base/random-and-hash.ts"

/** Why a request is refused before it is read. */
export interface Refusal {
  readonly status: 401 | 403 | 404
  readonly message: string
}

export interface RequestGuardOptions {
  readonly path: string
  readonly apiKey: string
  /** The address that the server listens on. */
  readonly host: string
  /** Further names under which clients reach the server, for example that of a proxy. */
  readonly allowedHosts: readonly string[]
}

/** Where no program on another machine can connect. */
export const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"])

const ALL_INTERFACES: ReadonlySet<string> = new Set(["0.0.0.0", "::"])

/**
 * A web page can make a browser send requests to this machine under a name of its own (DNS rebinding). Such a request names that page in
 * `Host` or `Origin`, so only known names and, on all interfaces, plain addresses pass. The key is compared in constant time.
 */
export function createRequestGuard({
  path,
  apiKey,
  host,
  allowedHosts,
}: RequestGuardOptions): (request: IncomingMessage) => Refusal | undefined {
  const names = new Set([...LOOPBACK_HOSTS, host, ...allowedHosts].map((name) => name.toLowerCase()))
  const isAllowed = (name: string | undefined): boolean =>
    name !== undefined && (names.has(name) || (ALL_INTERFACES.has(host) && isIP(name) !== 0))
  const expected = Buffer.from(sha256Hex(apiKey))
  return ({ headers, url = "" }) => {
    if (!isAllowed(hostname(`http://${headers.host ?? ""}`)))
      return { status: 403, message: "The Host header does not name this server. Allow it with --allow-host." }
    if (headers.origin !== undefined && !isAllowed(hostname(headers.origin)))
      return { status: 403, message: "Requests from this origin are not allowed." }
    if (url.split("?", 1)[0] !== path) return { status: 404, message: `Not found. The endpoint is ${path}.` }
    const [, key = ""] = /^Bearer +(\S+)$/iu.exec(headers.authorization ?? "") ?? []
    if (!timingSafeEqual(Buffer.from(sha256Hex(key)), expected))
      return { status: 401, message: "Send the API key of Hermes as a bearer token." }
    return undefined
  }
}

/** Without brackets around an IPv6 address; undefined for what is no address. */
function hostname(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).hostname.replace(/^\[(.*)\]$/u, "$1") : undefined
}
