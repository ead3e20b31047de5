import type { Socket } from "node:net"

import type { ProxyRequest } from "./proxy-request.ts"
import { readUntil } from "./read-until.ts"

const MAX_HEADER_BYTES = 64 * 1024
const END_OF_HEADERS = Buffer.from("\r\n\r\n")

/**
 * Reads the first request of an HTTP client: CONNECT, or a request with an absolute address. The latter is passed on with
 * `Connection: close`, because the next request on the connection could name another host.
 */
export async function httpHandshake(
  client: Socket,
  first: Buffer,
  password?: string,
): Promise<ProxyRequest | undefined> {
  const received = await readUntil(client, first, { until: END_OF_HEADERS, maxBytes: MAX_HEADER_BYTES })
  if (received === undefined) return answer(client, 400, "The request is not HTTP or its headers are too long.")
  const end = received.indexOf(END_OF_HEADERS)
  const [requestLine = "", ...headers] = received.subarray(0, end).toString("latin1").split("\r\n")
  const [method = "", target = "", version = ""] = requestLine.split(" ")
  const rest = received.subarray(end + END_OF_HEADERS.length)
  if (password !== undefined && !headers.some((header) => isAuthorization(header, password)))
    return answer(client, 407, "the proxy needs the password that only commands in the sandbox have.")
  const refuse = (reason: string): void => {
    answer(client, 403, reason)
  }
  if (method === "CONNECT") {
    const destination = parseAuthority(target)
    if (destination === undefined) return answer(client, 400, "CONNECT needs a host and a port.")
    const accept = (): void => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n")
    }
    return { destination, head: rest, accept, refuse }
  }
  const url = URL.parse(target)
  if (url === null || url.protocol !== "http:" || !version.startsWith("HTTP/1.")) {
    return answer(client, 400, "The proxy accepts http addresses and CONNECT.")
  }
  const kept = headers.filter((header) => !HOP_HEADERS.test(header) && !/^host:/iu.test(header))
  const lines = [`${method} ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`, ...kept, "Connection: close"]
  const head = Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), rest])
  const port = url.port === "" ? 80 : Number(url.port)
  return { destination: { host: url.hostname, port }, head, accept: () => undefined, refuse }
}

function isAuthorization(header: string, password: string): boolean {
  const [, credentials] = /^proxy-authorization:\s*basic\s+(\S+)\s*$/iu.exec(header) ?? []
  return credentials !== undefined && Buffer.from(credentials, "base64").toString("latin1").endsWith(`:${password}`)
}

/** Headers that are meant for the proxy itself. */
const HOP_HEADERS = /^(?:proxy-[a-z-]+|connection|keep-alive):/iu

function parseAuthority(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/iu.exec(text) ?? []
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) }
}

const TITLES = { 400: "Bad Request", 403: "Forbidden", 407: "Proxy Authentication Required" } as const

function answer(client: Socket, status: keyof typeof TITLES, reason: string): undefined {
  const body = `Hermes refused this connection: ${reason}\n`
  const headers = ["Content-Type: text/plain; charset=utf-8", `Content-Length: ${Buffer.byteLength(body)}`]
  if (status === 407) headers.push('Proxy-Authenticate: Basic realm="Hermes"')
  client.end(`HTTP/1.1 ${status} ${TITLES[status]}\r\n${headers.join("\r\n")}\r\nConnection: close\r\n\r\n${body}`)
  return undefined
}
