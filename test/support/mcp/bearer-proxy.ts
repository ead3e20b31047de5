import { createServer, request as httpRequest } from "node:http"
import type { IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"

/** An address whose requests reach the target unchanged except for the port they name and the API key, for a client that cannot send one. */
export interface BearerProxy extends AsyncDisposable {
  readonly url: string
}

export async function startBearerProxy(target: string, apiKey: string): Promise<BearerProxy> {
  const { hostname, port, pathname } = new URL(target)
  const named = ({ host, origin }: IncomingHttpHeaders): IncomingHttpHeaders => {
    const forTarget = (address: string): string => address.replace(`:${ownPort}`, `:${port}`)
    return {
      ...(host === undefined ? {} : { host: forTarget(host) }),
      ...(origin === undefined ? {} : { origin: forTarget(origin) }),
    }
  }
  const server = createServer((request, response) => {
    const forwarded = httpRequest(
      {
        hostname,
        port,
        path: request.url,
        method: request.method,
        headers: { ...request.headers, ...named(request.headers), authorization: `Bearer ${apiKey}` },
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        response.flushHeaders()
        answer.pipe(response)
      },
    )
    forwarded.on("error", () => response.destroy())
    response.on("close", () => forwarded.destroy())
    request.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port: ownPort }: AddressInfo = Object(server.address())
  return {
    url: `http://127.0.0.1:${ownPort}${pathname}`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
