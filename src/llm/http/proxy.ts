import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"

/** What an HTTP agent needs to go through a proxy; Node itself compares hosts with NO_PROXY. */
export interface ProxyVariables {
  readonly HTTP_PROXY?: string
  readonly HTTPS_PROXY?: string
  readonly NO_PROXY?: string
}

const NAMES = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"]

/** The proxy for an address, undefined for none, or a sentence that names the variable that cannot be used. */
export function proxyFor(
  url: URL,
  options: { readonly environment: Environment; readonly local: boolean },
): Result<ProxyVariables | undefined> {
  if (options.local) return ok(undefined)
  const name = NAMES.find((candidate) => (options.environment.get(candidate) ?? "").trim() !== "")
  if (name === undefined) return ok(undefined)
  const proxy = normalise(options.environment.get(name) ?? "")
  const problem = problemOf(proxy)
  if (problem !== undefined) return fail(`${name} ${problem}; correct or unset it`)
  const exceptions = options.environment.get("NO_PROXY") ?? options.environment.get("no_proxy") ?? ""
  if (isExcepted(url, exceptions)) return ok(undefined)
  return ok({ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ...(exceptions === "" ? {} : { NO_PROXY: exceptions }) })
}

/** `socks://` is what some desktops write for SOCKS 5; a trailing slash means nothing. */
export function normalise(proxy: string): string {
  return proxy
    .trim()
    .replace(/^socks:\/\//, "socks5://")
    .replace(/\/+$/, "")
}

function problemOf(proxy: string): string | undefined {
  if (!URL.canParse(proxy)) return `("${proxy}") is not an address`
  const { protocol, hostname } = new URL(proxy)
  if (protocol.startsWith("socks")) return "names a SOCKS proxy, which is not supported; name an HTTP proxy"
  if ((protocol !== "http:" && protocol !== "https:") || hostname === "")
    return `("${proxy}") is not an http(s) address`
  return undefined
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
