import type { Clock } from "../../base/clock.ts"
import { isRecord, stringField } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import type { Environment } from "../../config/environment.ts"
import type { TlsTrust } from "../http/tls-trust.ts"
import type { OAuthEndpoints } from "./oauth-endpoints.ts"
import { requestDocument } from "./oauth-request.ts"
import { findResetAt } from "../failure/reset-time.ts"

export interface TokenSet {
  readonly accessToken: string
  readonly refreshToken?: string
  /** Other fields to store with the tokens, under the names that `auth.json` uses. */
  readonly fields: Tree
}

export type TokenOutcome =
  | { readonly kind: "tokens"; readonly tokens: TokenSet }
  /** The server refused; `code` is its error code. */
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  | { readonly kind: "rate-limited"; readonly message: string; readonly resetAt?: number }
  | { readonly kind: "unreachable"; readonly message: string }

export interface TokenOptions {
  readonly environment: Environment
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly trust?: TlsTrust | undefined
}

/** Exchanges a refresh token. Keeps it when the server returns no new one. */
export async function refreshTokens(
  endpoints: OAuthEndpoints,
  refreshToken: string,
  options: TokenOptions,
): Promise<TokenOutcome> {
  const form = { grant_type: "refresh_token", refresh_token: refreshToken }
  const outcome = await requestTokens(endpoints, form, options)
  if (outcome.kind !== "tokens") return outcome
  return { kind: "tokens", tokens: { refreshToken, ...outcome.tokens } }
}

/** Sends one request to the token endpoint. */
export async function requestTokens(
  endpoints: OAuthEndpoints,
  form: Readonly<Record<string, string>>,
  options: TokenOptions,
): Promise<TokenOutcome> {
  const url = new URL(endpoints.tokenUrl)
  const fullForm = { ...form, client_id: endpoints.clientId }
  const response = await requestDocument({ url, form: fullForm, ...options })
  if (!response.ok) return { kind: "unreachable", message: response.error }
  const { status, headers, body } = response.value
  const now = options.clock.now()
  const error = parseOAuthError(body)
  if (status === 429) {
    const resetAt = findResetAt({ headers, body, text: error.message }, now)
    const message = `${endpoints.provider} is rate-limiting logins; try again later`
    return { kind: "rate-limited", message, ...(resetAt === undefined ? {} : { resetAt }) }
  }
  const tokens = status === 200 || status === 201 ? parseTokens(body, now) : undefined
  if (tokens !== undefined) return { kind: "tokens", tokens }
  if (status >= 500) {
    return { kind: "unreachable", message: `${url.origin} responded with HTTP ${status}; try again later` }
  }
  const reason = error.message === "" ? error.code : error.message
  const detail = reason === "" ? "" : `: ${reason}`
  return {
    kind: "refused",
    code: error.code,
    message: `${endpoints.provider} (HTTP ${status}) refused the login${detail}`,
  }
}

function parseTokens(body: unknown, now: number): TokenSet | undefined {
  const accessToken = stringField(body, "access_token") ?? ""
  if (accessToken === "" || !isRecord(body)) return undefined
  const refreshToken = stringField(body, "refresh_token") ?? ""
  const seconds = Number(body["expires_in"])
  const stamp = new Date(now).toISOString()
  const expiresAt = now + seconds * 1000
  const times =
    Number.isFinite(seconds) && seconds > 0
      ? { expires_in: seconds, expires_at: new Date(expiresAt).toISOString(), expires_at_ms: expiresAt }
      : {}
  const copied = Object.fromEntries(
    ["token_type", "scope", "inference_base_url"].flatMap((name) => {
      const value = stringField(body, name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
  return {
    accessToken,
    ...(refreshToken === "" ? {} : { refreshToken }),
    fields: { ...copied, ...times, obtained_at: stamp, last_refresh: stamp },
  }
}

/** Returns the code and message of an OAuth error body; some servers nest them. */
function parseOAuthError(body: unknown): { readonly code: string; readonly message: string } {
  const error = isRecord(body) ? body["error"] : undefined
  const nested = isRecord(error)
  const code = nested ? (stringField(error, "code") ?? stringField(error, "type")) : stringField(body, "error")
  const message = nested ? stringField(error, "message") : stringField(body, "error_description")
  return {
    code: ellipsize((code ?? "").trim(), 60),
    message: ellipsize((message ?? "").replaceAll(/[\s\p{Cc}]+/gu, " ").trim(), 300),
  }
}
