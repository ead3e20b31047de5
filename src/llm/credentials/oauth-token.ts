import type { Clock } from "../../base/clock.ts"
import { isRecord, stringField } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import type { Environment } from "../../config/environment.ts"
import type { Trust } from "../http/trust.ts"
import type { OAuthEndpoints } from "./oauth-endpoints.ts"
import { requestDocument } from "./oauth-request.ts"
import { findResetAt } from "../failure/reset-time.ts"

export interface TokenSet {
  readonly accessToken: string
  readonly refreshToken?: string
  /** What else is stored with the tokens, under the names `auth.json` uses. */
  readonly fields: Tree
}

export type TokenAnswer =
  | { readonly kind: "tokens"; readonly tokens: TokenSet }
  /** The server said no; `code` is its word for why. */
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  | { readonly kind: "rate-limited"; readonly message: string; readonly resetAt?: number }
  | { readonly kind: "unreachable"; readonly message: string }

export interface TokenOptions {
  readonly environment: Environment
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly trust?: Trust | undefined
}

/** Spends a refresh token. Tokens the server does not repeat stay as they were. */
export async function refreshTokens(
  endpoints: OAuthEndpoints,
  refreshToken: string,
  options: TokenOptions,
): Promise<TokenAnswer> {
  const form = { grant_type: "refresh_token", refresh_token: refreshToken }
  const answer = await requestTokens(endpoints, form, options)
  if (answer.kind !== "tokens") return answer
  return { kind: "tokens", tokens: { refreshToken, ...answer.tokens } }
}

/** One request to the token address. */
export async function requestTokens(
  endpoints: OAuthEndpoints,
  form: Readonly<Record<string, string>>,
  options: TokenOptions,
): Promise<TokenAnswer> {
  const url = new URL(endpoints.tokenUrl)
  const sent = { ...form, client_id: endpoints.clientId }
  const answer = await requestDocument({ url, form: sent, ...options })
  if (!answer.ok) return { kind: "unreachable", message: answer.error }
  const { status, headers, body } = answer.value
  const now = options.clock.now()
  const said = serverWords(body)
  if (status === 429) {
    const resetAt = findResetAt({ headers, body, text: said.message }, now)
    const message = `${endpoints.provider} limits logins at the moment; retry later`
    return { kind: "rate-limited", message, ...(resetAt === undefined ? {} : { resetAt }) }
  }
  const tokens = status === 200 || status === 201 ? parseTokens(body, now) : undefined
  if (tokens !== undefined) return { kind: "tokens", tokens }
  if (status >= 500) {
    return { kind: "unreachable", message: `${url.origin} answered with HTTP ${status}; try again later` }
  }
  const words = said.message === "" ? said.code : said.message
  const detail = words === "" ? "" : `: ${words}`
  return {
    kind: "refused",
    code: said.code,
    message: `${endpoints.provider} (HTTP ${status}) refused the login${detail}`,
  }
}

function parseTokens(body: unknown, now: number): TokenSet | undefined {
  const accessToken = stringField(body, "access_token") ?? ""
  if (accessToken === "" || !isRecord(body)) return undefined
  const refreshToken = stringField(body, "refresh_token") ?? ""
  const seconds = Number(body["expires_in"])
  const stamp = new Date(now).toISOString()
  const ends = now + seconds * 1000
  const times =
    Number.isFinite(seconds) && seconds > 0
      ? { expires_in: seconds, expires_at: new Date(ends).toISOString(), expires_at_ms: ends }
      : {}
  const told = Object.fromEntries(
    ["token_type", "scope", "inference_base_url"].flatMap((name) => {
      const value = stringField(body, name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
  return {
    accessToken,
    ...(refreshToken === "" ? {} : { refreshToken }),
    fields: { ...told, ...times, obtained_at: stamp, last_refresh: stamp },
  }
}

/** The code and the sentence of an OAuth error body; some servers nest them. */
function serverWords(body: unknown): { readonly code: string; readonly message: string } {
  const error = isRecord(body) ? body["error"] : undefined
  const nested = isRecord(error)
  const code = nested ? (stringField(error, "code") ?? stringField(error, "type")) : stringField(body, "error")
  const message = nested ? stringField(error, "message") : stringField(body, "error_description")
  return {
    code: ellipsize((code ?? "").trim(), 60),
    message: ellipsize((message ?? "").replaceAll(/[\s\p{Cc}]+/gu, " ").trim(), 300),
  }
}
