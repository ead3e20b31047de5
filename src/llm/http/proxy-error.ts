import { errorCode } from "../../base/system-error.ts"
import type { NamedProxy } from "./proxy.ts"

/** A proxy is the reason why there is no answer. The message is the end of a sentence, with the variable and without the password. */
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
    `the proxy ${address} does not answer; start it, or correct or unset ${variable}`,
  )
}

export function proxySilent({ address, variable }: NamedProxy): ProxyError {
  return new ProxyError(
    "ERR_PROXY_TIMEOUT",
    `the proxy ${address} opens no connection in time; correct or unset ${variable}`,
  )
}

/** `why` is what the proxy gave as reason, or nothing. */
export function proxyRefused({ address, variable }: NamedProxy, why: string): ProxyError {
  return new ProxyError(
    "ERR_PROXY_REFUSED",
    `the proxy ${address} refused the connection${why === "" ? "" : ` (${why})`}; correct or unset ${variable}, or name the host in NO_PROXY`,
  )
}

export function proxyWantsLogin({ address, variable, hasLogin }: NamedProxy): ProxyError {
  const [scheme, place] = address.split("://")
  return new ProxyError(
    "ERR_PROXY_LOGIN",
    hasLogin
      ? `the proxy ${address} refused the user name or password in ${variable}; correct them`
      : `the proxy ${address} wants a user name and a password; write them into ${variable} as ${scheme}://USER:PASSWORD@${place}`,
  )
}

export function proxyCannotReach({ address, variable }: NamedProxy, host: string): ProxyError {
  return new ProxyError(
    "ERR_PROXY_HOST",
    `the proxy ${address} cannot reach ${host}; correct its base_url, or take another proxy in ${variable}`,
  )
}

export function proxyForeign({ address, variable }: NamedProxy): ProxyError {
  return new ProxyError("ERR_PROXY_FOREIGN", `what answers at ${address} is not such a proxy; correct ${variable}`)
}

/** What went wrong on the way through an HTTP proxy, told as the proxy's; undefined for everything else. */
export function httpProxyError(
  error: Error,
  proxy: NamedProxy,
  { tunnel }: { readonly tunnel: boolean },
): ProxyError | undefined {
  if (errorCode(error) === "ERR_PROXY_TUNNEL") {
    const status = "statusCode" in error ? error.statusCode : undefined
    if (status === 407) return proxyWantsLogin(proxy)
    return proxyRefused(proxy, typeof status === "number" && !Number.isNaN(status) ? `HTTP ${status}` : "")
  }
  // Without a tunnel the proxy itself answers, and what is no HTTP comes from something else that listens there.
  if (!tunnel && (errorCode(error) ?? "").startsWith("HPE_")) return proxyForeign(proxy)
  // Behind a proxy nothing else is connected to, so a connection that fails is the proxy's.
  const connecting = "syscall" in error && (error.syscall === "connect" || error.syscall === "getaddrinfo")
  return connecting ? proxyUnreachable(proxy) : undefined
}
