import { lookup } from "node:dns/promises"
import { connect, isIP, isIPv6 } from "node:net"
import type { Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import type { ConnectionOptions as TlsOptions } from "node:tls"

import { SocksClient } from "socks"

import { errorMessage } from "../../base/system-error.ts"
import {
  ProxyError,
  proxyCannotReach,
  proxyForeign,
  proxyRefused,
  proxyUnreachable,
  proxyWantsLogin,
} from "./proxy-error.ts"
import type { SocksProxy } from "./proxy.ts"

export interface SocksTarget {
  readonly host: string
  readonly port: number
  /** Given for an https address: what its TLS needs to know. */
  readonly tls?: TlsOptions
  /** Ends whatever is being opened. */
  readonly signal: AbortSignal
  /** The socket does not keep the process alive. */
  readonly background: boolean
}

/** A connection to the target through the proxy, ready for a request. Rejects with a `ProxyError`, or with what TLS says. */
export async function connectThroughSocks(proxy: SocksProxy, target: SocksTarget): Promise<Socket> {
  const socket = connect({ host: proxy.host, port: proxy.port, noDelay: true, keepAlive: true })
  if (target.background) socket.unref()
  const stop = (): void => {
    socket.destroy(new Error("the connection is not wanted any more"))
  }
  target.signal.addEventListener("abort", stop, { once: true })
  if (target.signal.aborted) stop()
  try {
    await accepted(socket, proxy)
    await shakeHands(socket, proxy, { host: await nameFor(proxy, target.host), port: target.port })
    return target.tls === undefined ? socket : await secured(socket, target.tls)
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    target.signal.removeEventListener("abort", stop)
  }
}

function accepted(socket: Socket, proxy: SocksProxy): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (): void => {
      reject(proxyUnreachable(proxy))
    }
    socket.once("error", refuse)
    socket.once("connect", () => {
      socket.off("error", refuse)
      resolve()
    })
  })
}

/** The name itself where the proxy looks it up, else a number. SOCKS 4 knows no other numbers than those of IPv4. */
async function nameFor(proxy: SocksProxy, host: string): Promise<string> {
  if (proxy.version === 4 && isIPv6(host)) {
    throw new ProxyError(
      "ERR_PROXY_HOST",
      `a SOCKS 4 proxy cannot reach the IPv6 address ${host}; name a socks5:// proxy in ${proxy.variable}`,
    )
  }
  if (isIP(host) !== 0 || proxy.looksUp === "proxy") return host
  try {
    return (await lookup(host, proxy.version === 4 ? { family: 4 } : { order: "ipv4first" })).address
  } catch {
    const scheme = proxy.version === 4 ? "socks4a" : "socks5h"
    throw new ProxyError(
      "ERR_PROXY_HOST",
      `the host name ${host} is unknown on this machine; correct its base_url, or write ${scheme}:// in ${proxy.variable} so that the proxy looks it up`,
    )
  }
}

async function shakeHands(
  socket: Socket,
  proxy: SocksProxy,
  destination: { readonly host: string; readonly port: number },
): Promise<void> {
  try {
    await SocksClient.createConnection({
      command: "connect",
      existing_socket: socket,
      destination,
      proxy: {
        host: proxy.host,
        port: proxy.port,
        type: proxy.version,
        ...(proxy.user === "" ? {} : { userId: proxy.user }),
        ...(proxy.password === "" ? {} : { password: proxy.password }),
      },
    })
  } catch (error) {
    throw explain(errorMessage(error), proxy, destination.host)
  }
}

/** The library tells failures apart by its words only; its error also holds the password, so it goes no further. */
function explain(said: string, proxy: SocksProxy, host: string): ProxyError {
  if (/Unreachable|ConnectionRefused|TTLExpired|\(Failed\)/.test(said)) return proxyCannotReach(proxy, host)
  if (/Authentication failed|no accepted authentication|RejectedIdent/.test(said)) return proxyWantsLogin(proxy)
  if (/invalid socks version|unknown authentication type|invalid Socks/i.test(said)) return proxyForeign(proxy)
  return proxyRefused(proxy, /NotAllowed/.test(said) ? "not allowed by its rules" : "")
}

function secured(socket: Socket, tls: TlsOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const secure = connectTls({ ...tls, socket }, () => {
      secure.off("error", reject)
      resolve(secure)
    })
    secure.once("error", reject)
  })
}
