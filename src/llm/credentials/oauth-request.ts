import { parseJson } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { errorCode, errorMessage } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"
import { explainTransportError } from "../failure/failure-message.ts"
import { openHttpConnection } from "../http/http-connection.ts"
import type { TlsTrust } from "../http/tls-trust.ts"
import { connectionSettingsFor } from "../http/connection-settings.ts"
import { isLocalAddress } from "../local/local-address.ts"

export interface OAuthRequest {
  readonly url: URL
  /** Sent form-encoded with POST; without it the request is a GET. */
  readonly form?: Readonly<Record<string, string>>
  readonly environment: Environment
  /** Certificate authorities to trust; absent leaves it to the environment. */
  readonly trust?: TlsTrust | undefined
  readonly signal: AbortSignal
  /** For the whole request. */
  readonly timeoutMs: number
}

export interface OAuthResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Parsed JSON, or undefined. */
  readonly body: unknown
}

/** Sends one request to an authorisation server. Fails with a message when there is no response at all. */
export async function requestDocument(request: OAuthRequest): Promise<Result<OAuthResponse>> {
  const { url, form } = request
  const settings = connectionSettingsFor(url, { environment: request.environment, local: isLocalAddress(url.href) })
  if (!settings.ok) return settings
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(request.timeoutMs)])
  const connection = openHttpConnection(url, {
    ...settings.value,
    ...(request.trust === undefined ? {} : { trust: request.trust }),
  })
  const options = {
    headers: { accept: "application/json", "user-agent": "hermes-agent" },
    signal,
    timeouts: { connectMs: request.timeoutMs, idleMs: request.timeoutMs },
  }
  const formHeaders = { ...options.headers, "content-type": "application/x-www-form-urlencoded" }
  try {
    const response =
      form === undefined
        ? await connection.get("", options)
        : await connection.post("", new URLSearchParams(form).toString(), { ...options, headers: formHeaders })
    const text = await readText(response.body)
    return ok({ status: response.status, headers: response.headers, body: parseJson(text) })
  } catch (cause) {
    if (request.signal.aborted) return fail("stopped")
    const why = signal.aborted ? `no response within ${request.timeoutMs / 1000} s` : explain(cause)
    return fail(`${url.origin} could not be reached: ${why}`)
  } finally {
    connection.close()
  }
}

/** Explains a transport error as for a model, but names the settings of the login server. */
function explain(cause: unknown): string {
  const code = errorCode(cause)
  if (code === undefined) return errorMessage(cause)
  if (UNTRUSTED.test(code))
    return "its certificate cannot be verified; set its CA file with --ca-bundle or SSL_CERT_FILE"
  return explainTransportError(errorMessage(cause), [code]).replace(
    "correct its base_url",
    "correct its address in the oauth settings",
  )
}

const UNTRUSTED = /^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/

const MAX_RESPONSE_BYTES = 256 * 1024

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > MAX_RESPONSE_BYTES) throw new Error("the response is too long for an authorisation server")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}
