import { createServer, request as httpRequest } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { connect } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import type { Duplex } from "node:stream"

/** An HTTP proxy on loopback. Host names need no DNS behind it: everything goes to the one address it was given. */
export interface ForwardProxy extends AsyncDisposable {
  readonly url: string
  /** What it was asked for, in order: whole addresses, and `host:port` of tunnels. */
  readonly asked: readonly string[]
  /** Where every request and tunnel leads. */
  forwardTo(address: string): void
}

export interface ForwardProxyOptions {
  /** Answers everything with this status instead. */
  readonly refusesWith?: number
}

export async function startForwardProxy(options: ForwardProxyOptions = {}): Promise<ForwardProxy> {
  const asked: string[] = []
  const tunnels = new Set<Duplex>()
  let target: URL | undefined

  const forward = (incoming: IncomingMessage, response: ServerResponse): void => {
    asked.push(incoming.url ?? "")
    if (options.refusesWith !== undefined || target === undefined) {
      response.writeHead(options.refusesWith ?? 502, { "content-type": "text/html" }).end("<h1>Not through here</h1>")
      return
    }
    const { pathname, search } = new URL(incoming.url ?? "")
    const outgoing = httpRequest(
      new URL(`${pathname}${search}`, target),
      { method: incoming.method, headers: incoming.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
    outgoing.on("error", () => response.destroy())
    incoming.pipe(outgoing)
  }
  const tunnel = (incoming: IncomingMessage, client: Duplex, head: Buffer): void => {
    asked.push(incoming.url ?? "")
    tunnels.add(client)
    if (options.refusesWith !== undefined || target === undefined) {
      client.end(`HTTP/1.1 ${options.refusesWith ?? 502} Not through here\r\ncontent-length: 0\r\n\r\n`)
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
    asked,
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
