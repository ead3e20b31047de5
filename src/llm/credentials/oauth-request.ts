import { parseJson } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"
import { openHttpConnection } from "../http/http.ts"
import { isLocalAddress } from "../local/local-address.ts"
import { proxyFor } from "../http/proxy.ts"

export interface OAuthRequest {
  readonly url: URL
  /** Sent form-encoded with POST; without it the address is read with GET. */
  readonly form?: Readonly<Record<string, string>>
  readonly environment: Environment
  readonly signal: AbortSignal
  /** For the whole exchange. */
  readonly timeoutMs: number
}

export interface OAuthAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Parsed JSON, or undefined. */
  readonly body: unknown
}

/** One exchange with an authorisation server. Fails with a sentence when there was no answer at all. */
export async function requestDocument(request: OAuthRequest): Promise<Result<OAuthAnswer>> {
  const { url, form } = request
  const proxy = proxyFor(url, { environment: request.environment, local: isLocalAddress(url.href) })
  if (!proxy.ok) return proxy
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(request.timeoutMs)])
  const connection = openHttpConnection(url, proxy.value === undefined ? {} : { proxy: proxy.value })
  const how = {
    headers: { accept: "application/json", "user-agent": "hermes-agent" },
    signal,
    timeouts: { connectMs: request.timeoutMs, idleMs: request.timeoutMs },
  }
  const formHeaders = { ...how.headers, "content-type": "application/x-www-form-urlencoded" }
  try {
    const response =
      form === undefined
        ? await connection.get("", how)
        : await connection.post("", new URLSearchParams(form).toString(), { ...how, headers: formHeaders })
    const text = await readText(response.body)
    return ok({ status: response.status, headers: response.headers, body: parseJson(text) })
  } catch (cause) {
    if (request.signal.aborted) return fail("stopped")
    const why = signal.aborted ? `no answer within ${request.timeoutMs / 1000} s` : errorMessage(cause)
    return fail(`${url.origin} could not be reached: ${why}`)
  } finally {
    connection.close()
  }
}

const MAX_ANSWER_BYTES = 256 * 1024

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > MAX_ANSWER_BYTES) throw new Error("the answer is too long to be one of an authorisation server")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}
