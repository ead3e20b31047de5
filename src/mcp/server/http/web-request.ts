import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"

/** The request as the SDK wants it; undefined when its body is too long. */
export async function webRequest(
  request: IncomingMessage,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<Request | undefined> {
  const body = await readBody(request, maxBytes)
  if (body === undefined) return undefined
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers))
    for (const one of Array.isArray(value) ? value : value === undefined ? [] : [value]) headers.append(name, one)
  const { method = "GET" } = request
  const hasBody = method !== "GET" && method !== "HEAD"
  return new Request(new URL(request.url ?? "/", "http://localhost"), {
    method,
    headers,
    signal,
    ...(hasBody ? { body: new Uint8Array(body) } : {}),
  })
}

async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return undefined
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue
    bytes += chunk.length
    if (bytes > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Sends a response, which may be an endless stream. A client that disconnects ends it. */
export async function sendResponse(response: Response, to: ServerResponse): Promise<void> {
  to.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body === null) {
    to.end()
    return
  }
  // A stream of events must reach the client before its first event does.
  to.flushHeaders()
  await pipeline(Readable.fromWeb(response.body), to)
}
