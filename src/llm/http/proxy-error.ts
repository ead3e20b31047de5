import { errorCode } from "../../base/system-error.ts"
import type { NamedProxy } from "./proxy.ts"

/** A request failed because of a proxy. The message ends a sentence, names the variable and never contains the password. */
export class ProxyError extends Error {
  readonly code: `ERR_PROXY_${"UNREACHABLE" | "TIMEOUT" | "LOGIN" | "REFUSED" | "HOST" | "FOREIGN"}`

  constructor(code: ProxyError["code"], message: string) {
    super(message)
    this.code = code
  }
}

export function proxyUnreachable({ address, variable }: NamedProxy): ProxyError {
  return new ProxyError(
    "ERR_PROXY_UNREACHABLE",
    `the proxy ${address} does not respond; start it, or correct or unset ${variable}`,
  )
}

export function proxyTimedOut({ address, variable }: NamedProxy): ProxyError {
  return new ProxyError(
    "ERR_PROXY_TIMEOUT",
    `the proxy ${address} did not open a connection in time; correct or unset ${variable}`,
  )
}

/** `reason` is the proxy's own reason; it may be empty. */
export function proxyRefused({ address, variable }: NamedProxy, reason: string): ProxyError {
  return new ProxyError(
    "ERR_PROXY_REFUSED",
    `the proxy ${address} refused the connection${reason === "" ? "" : ` (${reason})`}; correct or unset ${variable}, or add the host to NO_PROXY`,
  )
}

export function proxyNeedsLogin({ address, variable, hasLogin }: NamedProxy): ProxyError {
  const [scheme, host] = address.split("://")
  return new ProxyError(
    "ERR_PROXY_LOGIN",
    hasLogin
      ? `the proxy ${address} refused the user name or password in ${variable}; correct them`
      : `the proxy ${address} requires a user name and a password; set ${variable} to ${scheme}://USER:PASSWORD@${host}`,
  )
}

export function proxyCannotReach({ address, variable }: NamedProxy, host: string): ProxyError {
  return new ProxyError(
    "ERR_PROXY_HOST",
    `the proxy ${address} cannot reach ${host}; correct its base_url, or set another proxy in ${variable}`,
  )
}

export function notAProxy({ address, variable }: NamedProxy): ProxyError {
  return new ProxyError(
    "ERR_PROXY_FOREIGN",
    `the server at ${address} is not a proxy of this type; correct ${variable}`,
  )
}

/** Translates an error of an HTTP proxy; returns undefined when the proxy did not cause it. */
export function httpProxyError(
  error: Error,
  proxy: NamedProxy,
  { tunnel }: { readonly tunnel: boolean },
): ProxyError | undefined {
  if (errorCode(error) === "ERR_PROXY_TUNNEL") {
    const status = "statusCode" in error ? error.statusCode : undefined
    if (status === 407) return proxyNeedsLogin(proxy)
    return proxyRefused(proxy, typeof status === "number" && !Number.isNaN(status) ? `HTTP ${status}` : "")
  }
  // Without a tunnel the proxy itself responds, so a response that is not HTTP comes from some other kind of server.
  if (!tunnel && (errorCode(error) ?? "").startsWith("HPE_")) return notAProxy(proxy)
  // All connections go to the proxy, so a failed connection means that the proxy is unreachable.
  const connecting = "syscall" in error && (error.syscall === "connect" || error.syscall === "getaddrinfo")
  return connecting ? proxyUnreachable(proxy) : undefined
}
