import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"

/** The proxy that a variable names for an address. */
export type Proxy = HttpProxy | SocksProxy

/** What sentences about a proxy may say of it. */
export interface NamedProxy {
  /** The variable it was found in. */
  readonly variable: string
  /** Its address without user name and password. */
  readonly address: string
  readonly hasLogin: boolean
}

export interface HttpProxy extends NamedProxy {
  readonly kind: "http"
  /** What an agent of Node needs to go through it; Node itself compares hosts with NO_PROXY once more. */
  readonly variables: { readonly HTTP_PROXY: string; readonly HTTPS_PROXY: string; readonly NO_PROXY?: string }
}

export interface SocksProxy extends NamedProxy {
  readonly kind: "socks"
  readonly version: 4 | 5
  /** Who turns the host's name into a number: `socks5h:` and `socks4a:` leave it to the proxy. */
  readonly looksUp: "here" | "proxy"
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
}

const NAMES = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"]

/** The proxy for an address, undefined for none, or a sentence that names the variable that cannot be used. */
export function proxyFor(
  url: URL,
  options: { readonly environment: Environment; readonly local: boolean },
): Result<Proxy | undefined> {
  if (options.local) return ok(undefined)
  const name = NAMES.find((candidate) => (options.environment.get(candidate) ?? "").trim() !== "")
  if (name === undefined) return ok(undefined)
  const address = normalise(options.environment.get(name) ?? "")
  const exceptions = options.environment.get("NO_PROXY") ?? options.environment.get("no_proxy") ?? ""
  const proxy = readProxy(address, { variable: name, exceptions })
  if (!proxy.ok) return fail(`${name} ${proxy.error}; correct or unset it`)
  return isExcepted(url, exceptions) ? ok(undefined) : proxy
}

/** `socks://` is what some desktops write for SOCKS 5; a trailing slash means nothing. */
export function normalise(proxy: string): string {
  return proxy
    .trim()
    .replace(/^socks:\/\//i, "socks5://")
    .replace(/\/+$/, "")
}

function readProxy(address: string, named: { readonly variable: string; readonly exceptions: string }): Result<Proxy> {
  const shown = withoutLogin(address)
  const url = URL.parse(address)
  if (url === null) return fail(`("${shown}") is not an address`)
  const login = readLogin(url)
  if (login === undefined) return fail(`("${shown}") holds a user name or password that is not written as in a URL`)
  const facts = { variable: named.variable, address: shown, hasLogin: login.user !== "" || login.password !== "" }
  const socks = SOCKS[url.protocol]
  if (url.hostname !== "" && socks !== undefined) {
    const host = url.hostname.replace(/^\[|\]$/g, "")
    return ok({ kind: "socks", ...facts, ...socks, ...login, host, port: url.port === "" ? 1080 : Number(url.port) })
  }
  if ((url.protocol !== "http:" && url.protocol !== "https:") || url.hostname === "")
    return fail(`("${shown}") is not an address of an HTTP or SOCKS proxy, as http://HOST:PORT or socks5://HOST:PORT`)
  const { exceptions } = named
  const variables = {
    HTTP_PROXY: address,
    HTTPS_PROXY: address,
    ...(exceptions === "" ? {} : { NO_PROXY: exceptions }),
  }
  return ok({ kind: "http", ...facts, variables })
}

/** As curl has it: without the letter, the name is looked up on this machine. */
const SOCKS: Readonly<Record<string, Pick<SocksProxy, "version" | "looksUp">>> = {
  "socks4:": { version: 4, looksUp: "here" },
  "socks4a:": { version: 4, looksUp: "proxy" },
  "socks5:": { version: 5, looksUp: "here" },
  "socks5h:": { version: 5, looksUp: "proxy" },
}

/** Undefined for a percent sign that encodes nothing. */
function readLogin(url: URL): { readonly user: string; readonly password: string } | undefined {
  try {
    return { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
  } catch {
    return undefined
  }
}

/** Sentences and logs must not hold the password, also where the address cannot be read. */
function withoutLogin(address: string): string {
  return address.replace(/^([a-z\d+.-]*:\/\/)?.*@/i, "$1")
}

/** `*`, a host, a suffix with or without a leading dot, each with an optional port. */
function isExcepted(url: URL, exceptions: string): boolean {
  const host = url.hostname.toLowerCase()
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port
  return exceptions
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      if (entry === "*") return true
      const [, name = "", wantedPort] = /^\*?\.?([^:]+)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
      if (name === "" || (wantedPort !== undefined && wantedPort !== port)) return false
      return host === name || host.endsWith(`.${name}`)
    })
}
