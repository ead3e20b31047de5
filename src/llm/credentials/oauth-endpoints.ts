import { isRecord, stringField } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import type { Config } from "../../config/load.ts"
import type { Trust } from "../http/trust.ts"
import { requestDocument, type OAuthRequest } from "./oauth-request.ts"
import { poolKey, providerSettings } from "./pool-key.ts"

/** Where and as whom one logs in at a provider. */
export interface OAuthEndpoints {
  readonly provider: string
  readonly clientId: string
  readonly tokenUrl: string
  readonly authorizeUrl?: string
  readonly deviceUrl?: string
  readonly scope?: string
  /** For providers that accept only a redirect they know. */
  readonly redirectPort?: number
}

interface KnownLogin {
  readonly tokenUrl?: string
  readonly deviceUrl?: string
  /** Publishes its addresses in a discovery document. */
  readonly issuer?: string
  readonly clientId?: string
  readonly scope?: string
  /** Seconds before the end of a token at which it is renewed. */
  readonly skew: number
}

const DEFAULT_SKEW = 120

/**
 * Addresses are the vendors' public ones. Client ids are not in here, because those we know belong to other programs; the one
 * exception is Hermes' own registration at Nous.
 */
const KNOWN_LOGINS: Readonly<Record<string, KnownLogin>> = {
  "openai-codex": { tokenUrl: "https://auth.openai.com/oauth/token", skew: DEFAULT_SKEW },
  nous: {
    tokenUrl: "https://portal.nousresearch.com/api/oauth/token",
    deviceUrl: "https://portal.nousresearch.com/api/oauth/device/code",
    clientId: "hermes-cli",
    scope: "inference:invoke",
    skew: DEFAULT_SKEW,
  },
  anthropic: { tokenUrl: "https://console.anthropic.com/v1/oauth/token", skew: DEFAULT_SKEW },
  "xai-oauth": { issuer: "https://auth.x.ai", skew: 3600 },
  "qwen-oauth": { tokenUrl: "https://chat.qwen.ai/api/v1/oauth2/token", skew: DEFAULT_SKEW },
  "minimax-oauth": { skew: 60 },
}

/** Seconds before its end at which a provider's token is renewed. */
export function renewalSkew(key: string): number {
  return KNOWN_LOGINS[key]?.skew ?? DEFAULT_SKEW
}

/** The provider's addresses, from `providers.<id>.oauth` first. A missing one is named by its setting. */
export async function oauthEndpoints(
  provider: string,
  options: {
    readonly config: Config
    readonly environment: Environment
    readonly signal: AbortSignal
    readonly timeoutMs: number
    readonly trust?: Trust | undefined
    /** What a stored login says about itself. */
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
  if (clientId === undefined) return missing("client_id", "a client id that is registered for you")
  const issuer = setting("issuer") ?? (setting("token_url") === undefined ? known?.issuer : undefined)
  const found = issuer === undefined ? ok({}) : await discover(issuer, options)
  if (!found.ok) return found
  const portal = options.login?.portalUrl?.replace(/\/+$/, "")
  const tokenUrl =
    setting("token_url") ??
    stringField(found.value, "token_endpoint") ??
    known?.tokenUrl ??
    (portal === undefined ? undefined : `${portal}/oauth/token`)
  if (tokenUrl === undefined) return missing("token_url", "the address where tokens are issued")
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
  const answer = await requestDocument({ url: new URL(address), ...options })
  if (!answer.ok) return answer
  return answer.value.status === 200 && isRecord(answer.value.body)
    ? ok(answer.value.body)
    : fail(`${address} answered with HTTP ${answer.value.status} instead of a list of addresses`)
}

function isWebAddress(address: string): boolean {
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)
}
