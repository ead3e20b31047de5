import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"

/** The proxy to use for a URL, from the environment. */
export type Proxy = HttpProxy | SocksProxy

/** What messages may show about a proxy. */
export interface NamedProxy {
  /** The environment variable it was found in. */
  readonly variable: string
  /** Its address without user name and password. */
  readonly address: string
  readonly hasLogin: boolean
}

export interface HttpProxy extends NamedProxy {
  readonly kind: "http"
  /** The `proxyEnv` of Node's agent, which checks NO_PROXY again on its own. */
  readonly variables: { readonly HTTP_PROXY: string; readonly HTTPS_PROXY: string; readonly NO_PROXY?: string }
}

export interface SocksProxy extends NamedProxy {
  readonly kind: "socks"
  readonly version: 4 | 5
  /** Where host names are resolved: `socks5h:` and `socks4a:` leave it to the proxy. */
  readonly dnsLookup: "local" | "proxy"
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
}

const NAMES = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"]

/** Returns the proxy for a URL, or undefined for none. The failure message names the variable to correct. */
export function proxyFor(
  url: URL,
  options: { readonly environment: Environment; readonly local: boolean },
): Result<Proxy | undefined> {
  if (options.local) return ok(undefined)
  const name = NAMES.find((candidate) => (options.environment.get(candidate) ?? "").trim() !== "")
  if (name === undefined) return ok(undefined)
  const address = normaliseProxyUrl(options.environment.get(name) ?? "")
  const noProxy = options.environment.get("NO_PROXY") ?? options.environment.get("no_proxy") ?? ""
  const proxy = parseProxy(address, { variable: name, noProxy })
  if (!proxy.ok) return fail(`${name} ${proxy.error}; correct or unset it`)
  return bypassesProxy(url, noProxy) ? ok(undefined) : proxy
}

/** Some desktops write `socks://` for SOCKS 5. Removes trailing slashes. */
function normaliseProxyUrl(proxy: string): string {
  return proxy
    .trim()
    .replace(/^socks:\/\//i, "socks5://")
    .replace(/\/+$/, "")
}

function parseProxy(address: string, origin: { readonly variable: string; readonly noProxy: string }): Result<Proxy> {
  const shown = withoutLogin(address)
  const url = URL.parse(address)
  if (url === null) return fail(`("${shown}") is not a URL`)
  const login = readLogin(url)
  if (login === undefined) return fail(`("${shown}") contains a user name or password that is not URL-encoded`)
  const facts = { variable: origin.variable, address: shown, hasLogin: login.user !== "" || login.password !== "" }
  const socks = SOCKS[url.protocol]
  if (url.hostname !== "" && socks !== undefined) {
    const host = url.hostname.replace(/^\[|\]$/g, "")
    return ok({ kind: "socks", ...facts, ...socks, ...login, host, port: url.port === "" ? 1080 : Number(url.port) })
  }
  if ((url.protocol !== "http:" && url.protocol !== "https:") || url.hostname === "")
    return fail(`("${shown}") is not the URL of an HTTP or SOCKS proxy, such as http://HOST:PORT or socks5://HOST:PORT`)
  const { noProxy } = origin
  const variables = {
    HTTP_PROXY: address,
    HTTPS_PROXY: address,
    ...(noProxy === "" ? {} : { NO_PROXY: noProxy }),
  }
  return ok({ kind: "http", ...facts, variables })
}

/** As in curl: `socks4a` and `socks5h` let the proxy resolve host names. */
const SOCKS: Readonly<Record<string, Pick<SocksProxy, "version" | "dnsLookup">>> = {
  "socks4:": { version: 4, dnsLookup: "local" },
  "socks4a:": { version: 4, dnsLookup: "proxy" },
  "socks5:": { version: 5, dnsLookup: "local" },
  "socks5h:": { version: 5, dnsLookup: "proxy" },
}

/** Undefined when the percent-encoding is invalid. */
function readLogin(url: URL): { readonly user: string; readonly password: string } | undefined {
  try {
    return { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
  } catch {
    return undefined
  }
}

/** Removes the password for messages and logs, even when the address is not a valid URL. */
function withoutLogin(address: string): string {
  return address.replace(/^([a-z\d+.-]*:\/\/)?.*@/i, "$1")
}

/** Matches a NO_PROXY list: `*`, a host, or a suffix with or without a leading dot, each with an optional port. */
function bypassesProxy(url: URL, noProxy: string): boolean {
  const host = url.hostname.toLowerCase()
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port
  return noProxy
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      if (entry === "*") return true
      const [, name = "", wantedPort] = /^\*?\.?([^:]+)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
      if (name === "" || (wantedPort !== undefined && wantedPort !== port)) return false
      return host === name || host.endsWith(`.${name}`)
    })
}
