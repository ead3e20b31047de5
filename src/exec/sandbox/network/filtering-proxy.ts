import { connect, isIP } from "node:net"
import type { Server, Socket } from "node:net"
import { lookup } from "node:dns/promises"

import { errorMessage } from "../../../base/system-error.ts"
import { canonicalHost, isInternalAddress, isListedAddress, isListedHost } from "./host-list.ts"
import type { Destination } from "./host-list.ts"
import { httpHandshake } from "./http-handshake.ts"
import type { ProxyRequest } from "./proxy-request.ts"
import { socksHandshake } from "./socks-handshake.ts"

export interface FilteringProxyOptions {
  /** The hosts that need no question, read for each connection. */
  readonly hosts: () => readonly string[]
  /** Asked about a host that is not listed. False refuses it. */
  readonly mayReach: (destination: Destination, signal: AbortSignal) => Promise<boolean>
  /** Clients must send it, with any user name. Without one, only commands can reach the proxy. */
  readonly password?: string | undefined
  /** Resolves a name to its addresses. */
  readonly resolve?: (host: string) => Promise<readonly string[]>
}

/**
 * Serves the connections of sandboxed commands, which have no other route: HTTP requests, CONNECT and SOCKS5 on one port. The name is resolved
 * here, once, and the address that was checked is the one that is dialled.
 */
export function serveFilteringProxy(server: Server, options: FilteringProxyOptions): () => void {
  const open = new Set<Socket>()
  const closing = new AbortController()
  server.on("connection", (client: Socket) => {
    open.add(client)
    client.once("close", () => open.delete(client))
    client.on("error", () => client.destroy())
    serve(client, { ...options, signal: closing.signal, onOpened: (socket) => open.add(socket) }).catch(() => {
      // The client went away, or the destination did not answer: closing the connection tells the command.
      client.destroy()
    })
  })
  server.maxConnections = MAX_CONNECTIONS
  server.unref()
  return () => {
    closing.abort()
    for (const socket of open) socket.destroy()
    server.close()
  }
}

interface ServeOptions extends FilteringProxyOptions {
  readonly signal: AbortSignal
  readonly onOpened: (socket: Socket) => void
}

/** Commands must not use up the file descriptors of this process. */
const MAX_CONNECTIONS = 512

/** A client that never says where it wants to go is dropped. */
const HANDSHAKE_MS = 30_000
const DIAL_MS = 30_000
const SOCKS_VERSION = 5

async function serve(client: Socket, options: ServeOptions): Promise<void> {
  client.setTimeout(HANDSHAKE_MS, () => client.destroy())
  const first = await firstBytes(client)
  if (first === undefined) return
  const request = await (first[0] === SOCKS_VERSION ? socksHandshake : httpHandshake)(client, first, options.password)
  if (request === undefined) return
  client.setTimeout(0)
  const address = await permittedAddress(request.destination, options)
  if ("refused" in address) request.refuse(address.refused)
  else join({ client, request, upstream: await dial(address, options) })
}

async function firstBytes(client: Socket): Promise<Buffer | undefined> {
  const { promise, resolve } = Promise.withResolvers<Buffer | undefined>()
  client.once("data", (chunk: Buffer) => {
    client.pause()
    resolve(chunk)
  })
  client.once("close", () => {
    resolve(undefined)
  })
  return await promise
}

async function permittedAddress(
  destination: Destination,
  { hosts, mayReach, resolve = resolveName, signal }: ServeOptions,
): Promise<Destination | { readonly refused: string }> {
  const host = canonicalHost(destination.host)
  const { port } = destination
  // Also keeps control characters out of the question and the answer.
  if (isIP(host) === 0 && !HOST_NAME.test(host)) return { refused: "the host has no valid name." }
  const list = hosts()
  const isAllowed = isListedHost({ host, port }, list) || (await mayReach({ host, port }, signal))
  if (!isAllowed) return { refused: `${host} is not in terminal.sandbox_hosts, the hosts that commands may reach.` }
  let addresses: readonly string[]
  try {
    addresses = await resolve(host)
  } catch (error) {
    return { refused: `${host} cannot be resolved: ${errorMessage(error)}` }
  }
  // A name may resolve to anything; an address that is listed or approved is meant as such.
  const isAddress = isIP(host) !== 0
  const reachable = addresses.find(
    (address) => isAddress || !isInternalAddress(address) || isListedAddress({ host: address, port }, list),
  )
  if (reachable === undefined) {
    return {
      refused: `${host} resolves to an address of this machine or its network. List the address itself to allow it.`,
    }
  }
  return { host: reachable, port }
}

const HOST_NAME = /^[a-z0-9_](?:[a-z0-9._-]{0,251}[a-z0-9_])?$/u

async function resolveName(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

async function dial({ host, port }: Destination, { signal, onOpened }: ServeOptions): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const upstream = connect({ host, port })
  onOpened(upstream)
  const onAbort = (): void => {
    upstream.destroy(new Error("closed"))
  }
  signal.addEventListener("abort", onAbort, { once: true })
  upstream.once("close", () => {
    signal.removeEventListener("abort", onAbort)
  })
  upstream.setTimeout(DIAL_MS, () => upstream.destroy(new Error("no answer")))
  upstream.once("error", reject)
  upstream.once("connect", () => {
    upstream.setTimeout(0)
    resolve(upstream)
  })
  return await promise
}

function join({
  client,
  request,
  upstream,
}: {
  readonly client: Socket
  readonly request: ProxyRequest
  readonly upstream: Socket
}): void {
  upstream.on("error", () => client.destroy())
  client.once("close", () => upstream.destroy())
  if (client.destroyed) {
    upstream.destroy()
    return
  }
  request.accept()
  if (request.head.length > 0) upstream.write(request.head)
  client.pipe(upstream)
  upstream.pipe(client)
}
