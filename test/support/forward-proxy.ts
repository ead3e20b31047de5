import { createServer, request as httpRequest } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { connect } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import type { Duplex } from "node:stream"

/** An HTTP proxy on loopback. It forwards everything to one fixed address, so host names need no DNS. */
export interface ForwardProxy extends AsyncDisposable {
  readonly url: string
  /** The requested URLs in order; tunnels as `host:port`. */
  readonly requests: readonly string[]
  /** Sets the address that receives every request and tunnel. */
  forwardTo(address: string): void
}

export interface ForwardProxyOptions {
  /** Rejects every request and tunnel with this status. */
  readonly rejectWithStatus?: number
}

export async function startForwardProxy(options: ForwardProxyOptions = {}): Promise<ForwardProxy> {
  const requests: string[] = []
  const tunnels = new Set<Duplex>()
  let target: URL | undefined

  const forward = (incoming: IncomingMessage, response: ServerResponse): void => {
    requests.push(incoming.url ?? "")
    if (options.rejectWithStatus !== undefined || target === undefined) {
      response
        .writeHead(options.rejectWithStatus ?? 502, { "content-type": "text/html" })
        .end("<h1>Rejected by the proxy</h1>")
      return
    }
    const { pathname, search } = new URL(incoming.url ?? "")
    const outgoing = httpRequest(
      new URL(`${pathname}${search}`, target),
      { method: incoming.method, headers: incoming.headers },
      (upstream) => {
        response.writeHead(upstream.statusCode ?? 502, upstream.headers)
        upstream.pipe(response)
      },
    )
    outgoing.on("error", () => response.destroy())
    incoming.pipe(outgoing)
  }
  const tunnel = (incoming: IncomingMessage, client: Duplex, head: Buffer): void => {
    requests.push(incoming.url ?? "")
    tunnels.add(client)
    if (options.rejectWithStatus !== undefined || target === undefined) {
      client.end(`HTTP/1.1 ${options.rejectWithStatus ?? 502} Rejected by the proxy\r\ncontent-length: 0\r\n\r\n`)
      return
    }
    const server: Socket = connect({ host: target.hostname, port: Number(target.port) }, () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n")
      server.write(head)
      client.pipe(server).pipe(client)
    })
    tunnels.add(server)
    server.on("error", () => client.destroy())
    client.on("error", () => server.destroy())
  }

  const http = createServer(forward).on("connect", tunnel)
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests,
    forwardTo: (address) => {
      target = new URL(address)
    },
    async [Symbol.asyncDispose]() {
      for (const side of tunnels) side.destroy()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
