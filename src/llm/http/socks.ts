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
  notAProxy,
  proxyRefused,
  proxyUnreachable,
  proxyNeedsLogin,
} from "./proxy-error.ts"
import type { SocksProxy } from "./proxy.ts"

export interface SocksTarget {
  readonly host: string
  readonly port: number
  /** TLS options, for an https address. */
  readonly tls?: TlsOptions
  /** Aborts the connection attempt. */
  readonly signal: AbortSignal
  /** The socket does not keep the process alive. */
  readonly background: boolean
}

/** Opens a connection to the target through the proxy. Rejects with a `ProxyError`, or with the TLS error. */
export async function connectThroughSocks(proxy: SocksProxy, target: SocksTarget): Promise<Socket> {
  const socket = connect({ host: proxy.host, port: proxy.port, noDelay: true, keepAlive: true })
  if (target.background) socket.unref()
  const stop = (): void => {
    socket.destroy(new Error("the connection attempt was aborted"))
  }
  target.signal.addEventListener("abort", stop, { once: true })
  if (target.signal.aborted) stop()
  try {
    await proxyConnected(socket, proxy)
    await socksHandshake(socket, proxy, { host: await resolveHost(proxy, target.host), port: target.port })
    return target.tls === undefined ? socket : await startTls(socket, target.tls)
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    target.signal.removeEventListener("abort", stop)
  }
}

function proxyConnected(socket: Socket, proxy: SocksProxy): Promise<void> {
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

/** Returns the host name when the proxy resolves it, else an IP address. SOCKS 4 supports only IPv4. */
async function resolveHost(proxy: SocksProxy, host: string): Promise<string> {
  if (proxy.version === 4 && isIPv6(host)) {
    throw new ProxyError(
      "ERR_PROXY_HOST",
      `a SOCKS 4 proxy cannot reach the IPv6 address ${host}; set a socks5:// proxy in ${proxy.variable}`,
    )
  }
  if (isIP(host) !== 0 || proxy.dnsLookup === "proxy") return host
  try {
    return (await lookup(host, proxy.version === 4 ? { family: 4 } : { order: "ipv4first" })).address
  } catch {
    const scheme = proxy.version === 4 ? "socks4a" : "socks5h"
    throw new ProxyError(
      "ERR_PROXY_HOST",
      `the host name ${host} cannot be resolved on this machine; correct its base_url, or use ${scheme}:// in ${proxy.variable} so that the proxy resolves it`,
    )
  }
}

async function socksHandshake(
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
    throw toProxyError(errorMessage(error), proxy, destination.host)
  }
}

/** The library has no error codes, so match its text. Its error contains the password and must not be passed on. */
function toProxyError(text: string, proxy: SocksProxy, host: string): ProxyError {
  if (/Unreachable|ConnectionRefused|TTLExpired|\(Failed\)/.test(text)) return proxyCannotReach(proxy, host)
  if (/Authentication failed|no accepted authentication|RejectedIdent/.test(text)) return proxyNeedsLogin(proxy)
  if (/invalid socks version|unknown authentication type|invalid Socks/i.test(text)) return notAProxy(proxy)
  return proxyRefused(proxy, /NotAllowed/.test(text) ? "not allowed by its rules" : "")
}

function startTls(socket: Socket, tls: TlsOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const secure = connectTls({ ...tls, socket }, () => {
      secure.off("error", reject)
      resolve(secure)
    })
    secure.once("error", reject)
  })
}
