import { isRecord, stringField } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import type { Config } from "../../config/load-config.ts"
import type { TlsTrust } from "../http/tls-trust.ts"
import { requestDocument, type OAuthRequest } from "./oauth-request.ts"
import { poolKey, providerSettings } from "./pool-key.ts"

/** The OAuth endpoints and client of a provider. */
export interface OAuthEndpoints {
  readonly provider: string
  readonly clientId: string
  readonly tokenUrl: string
  readonly authorizeUrl?: string
  readonly deviceUrl?: string
  readonly scope?: string
  /** For providers that accept only a registered redirect port. */
  readonly redirectPort?: number
}

interface KnownLogin {
  readonly tokenUrl?: string
  readonly deviceUrl?: string
  /** Publishes its endpoints in a discovery document. */
  readonly issuer?: string
  readonly clientId?: string
  readonly scope?: string
  /** Seconds before its expiry at which a token is refreshed. */
  readonly margin: number
}

const DEFAULT_MARGIN = 120

/**
 * The vendors' public endpoints. There are no client ids here, because the known ones belong to other programs; the exception is
 * Hermes' own registration at Nous.
 */
const KNOWN_LOGINS: Readonly<Record<string, KnownLogin>> = {
  "openai-codex": { tokenUrl: "https://auth.openai.com/oauth/token", margin: DEFAULT_MARGIN },
  nous: {
    tokenUrl: "https://portal.nousresearch.com/api/oauth/token",
    deviceUrl: "https://portal.nousresearch.com/api/oauth/device/code",
    clientId: "hermes-cli",
    scope: "inference:invoke",
    margin: DEFAULT_MARGIN,
  },
  anthropic: { tokenUrl: "https://console.anthropic.com/v1/oauth/token", margin: DEFAULT_MARGIN },
  "xai-oauth": { issuer: "https://auth.x.ai", margin: 3600 },
  "qwen-oauth": { tokenUrl: "https://chat.qwen.ai/api/v1/oauth2/token", margin: DEFAULT_MARGIN },
  "minimax-oauth": { margin: 60 },
}

/** Seconds before its expiry at which a provider's token is refreshed. */
export function refreshMarginSeconds(key: string): number {
  return KNOWN_LOGINS[key]?.margin ?? DEFAULT_MARGIN
}

/** Returns the provider's OAuth endpoints; `providers.<id>.oauth` has priority. The failure names the missing setting. */
export async function oauthEndpoints(
  provider: string,
  options: {
    readonly config: Config
    readonly environment: Environment
    readonly signal: AbortSignal
    readonly timeoutMs: number
    readonly trust?: TlsTrust | undefined
    /** Values from a stored login. */
    readonly login?: { readonly clientId?: string | undefined; readonly portalUrl?: string | undefined }
  },
): Promise<Result<OAuthEndpoints>> {
  const { name, fields } = providerSettings(provider, options.config)
  const settings = isRecord(fields["oauth"]) ? fields["oauth"] : {}
  const known = KNOWN_LOGINS[poolKey(provider, options.config)]
  const setting = (key: string): string | undefined => stringField(settings, key)?.trim() || undefined
  const missing = (key: string, what: string): Result<never> =>
    fail(`${name} needs ${what} to log in: set it with \`hermes config set providers.${name}.oauth.${key} …\``)
  const clientId = setting("client_id") ?? options.login?.clientId ?? known?.clientId
  if (clientId === undefined) return missing("client_id", "a registered client id")
  const issuer = setting("issuer") ?? (setting("token_url") === undefined ? known?.issuer : undefined)
  const found = issuer === undefined ? ok({}) : await discover(issuer, options)
  if (!found.ok) return found
  const portal = options.login?.portalUrl?.replace(/\/+$/, "")
  const tokenUrl =
    setting("token_url") ??
    stringField(found.value, "token_endpoint") ??
    known?.tokenUrl ??
    (portal === undefined ? undefined : `${portal}/oauth/token`)
  if (tokenUrl === undefined) return missing("token_url", "the token endpoint")
  const authorizeUrl = setting("authorize_url") ?? stringField(found.value, "authorization_endpoint")
  const deviceUrl =
    setting("device_url") ?? stringField(found.value, "device_authorization_endpoint") ?? known?.deviceUrl
  const scope = setting("scope") ?? known?.scope
  const redirectPort = settings["redirect_port"]
  for (const [key, address] of Object.entries({ tokenUrl, authorizeUrl, deviceUrl })) {
    if (address !== undefined && !isWebAddress(address)) {
      return fail(`${key} of ${name} is not an http(s) address: ${address}; correct providers.${name}.oauth`)
    }
  }
  return ok({
    provider: name,
    clientId,
    tokenUrl,
    ...(authorizeUrl === undefined ? {} : { authorizeUrl }),
    ...(deviceUrl === undefined ? {} : { deviceUrl }),
    ...(scope === undefined ? {} : { scope }),
    ...(typeof redirectPort === "number" ? { redirectPort } : {}),
  })
}

async function discover(
  issuer: string,
  options: Pick<OAuthRequest, "environment" | "signal" | "timeoutMs" | "trust">,
): Promise<Result<Readonly<Record<string, unknown>>>> {
  const address = `${issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`
  if (!isWebAddress(address)) return fail(`${issuer} is not an http(s) address; correct the oauth.issuer setting`)
  const response = await requestDocument({ url: new URL(address), ...options })
  if (!response.ok) return response
  return response.value.status === 200 && isRecord(response.value.body)
    ? ok(response.value.body)
    : fail(`${address} responded with HTTP ${response.value.status} instead of a discovery document`)
}

function isWebAddress(address: string): boolean {
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)
}
