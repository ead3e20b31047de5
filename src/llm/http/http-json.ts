import { parseJson } from "../../base/json.ts"
import type { HttpConnection, HttpTimeouts } from "./http-connection.ts"

/** Model lists are a few hundred kilobytes; a larger response is not one. */
const MAX_BYTES = 16 * 1024 * 1024

export interface JsonRequest {
  readonly path: string
  /** Sent with POST when present. */
  readonly body?: unknown
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: HttpTimeouts
  readonly signal: AbortSignal
}

export interface JsonResponse {
  readonly status: number
  /** Undefined when the body is not JSON. */
  readonly json: unknown
}

/** Sends one small request and parses the JSON response. Throws what the connection throws. */
export async function requestJson(connection: HttpConnection, request: JsonRequest): Promise<JsonResponse> {
  const { path, body, headers, signal, timeouts } = request
  const accept = { accept: "application/json", ...headers }
  const response =
    body === undefined
      ? await connection.get(path, { headers: accept, signal, timeouts })
      : await connection.post(path, JSON.stringify(body), {
          headers: { ...accept, "content-type": "application/json" },
          signal,
          timeouts,
        })
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body) {
    size += chunk.byteLength
    if (size > MAX_BYTES) return { status: response.status, json: undefined }
    chunks.push(chunk)
  }
  return { status: response.status, json: parseJson(Buffer.concat(chunks).toString("utf8")) }
}
