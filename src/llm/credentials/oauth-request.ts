import { parseJson } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { errorCode, errorMessage } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"
import { explainTransport } from "../failure/failure-sentence.ts"
import { openHttpConnection } from "../http/http.ts"
import type { Trust } from "../http/trust.ts"
import { wayTo } from "../http/way.ts"
import { isLocalAddress } from "../local/local-address.ts"

export interface OAuthRequest {
  readonly url: URL
  /** Sent form-encoded with POST; without it the address is read with GET. */
  readonly form?: Readonly<Record<string, string>>
  readonly environment: Environment
  /** Whose certificates are believed here; absent leaves it to the environment. */
  readonly trust?: Trust | undefined
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
  const way = wayTo(url, { environment: request.environment, local: isLocalAddress(url.href) })
  if (!way.ok) return way
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(request.timeoutMs)])
  const connection = openHttpConnection(url, {
    ...way.value,
    ...(request.trust === undefined ? {} : { trust: request.trust }),
  })
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
    const why = signal.aborted ? `no answer within ${request.timeoutMs / 1000} s` : explain(cause)
    return fail(`${url.origin} could not be reached: ${why}`)
  } finally {
    connection.close()
  }
}

/** As for a model, but the address and the authority are named elsewhere. */
function explain(cause: unknown): string {
  const code = errorCode(cause)
  if (code === undefined) return errorMessage(cause)
  if (UNTRUSTED.test(code))
    return "its certificate cannot be verified; name the file of its authority with --ca-bundle or in SSL_CERT_FILE"
  return explainTransport(errorMessage(cause), [code]).replace(
    "correct its base_url",
    "correct its address in the oauth settings",
  )
}

const UNTRUSTED = /^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/

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
