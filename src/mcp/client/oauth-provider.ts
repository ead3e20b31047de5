import { auth, extractWWWAuthenticateParams, UnauthorizedError } from "@modelcontextprotocol/client"
import type {
  AuthProvider,
  FetchLike,
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client"

import type { Clock } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import type { Home } from "../../config/home.ts"
import type { OAuthSettings } from "../server-settings.ts"
import { openOAuthStore } from "./oauth-store.ts"
import type { OAuthStore } from "./oauth-store.ts"

export interface OAuthOptions {
  readonly home: Home
  readonly server: string
  readonly settings: OAuthSettings
  readonly clock: Clock
  /** Where the browser returns to. Absent in sessions, which never start a login. */
  readonly redirectUrl?: string
  /** The login that was started, to recognise the browser's answer. */
  readonly state?: string
}

/** The OAuth client of one server: an authorisation code with PKCE, and a client that registers itself unless the settings name one. */
export interface StoredOAuthProvider extends OAuthClientProvider {
  /** The page on which the user has to log in, once a login was started. */
  authorizationUrl(): URL | undefined
}

export function createOAuthProvider(options: OAuthOptions): StoredOAuthProvider {
  const { settings, clock } = options
  const store = openOAuthStore(options.home, options.server)
  let verifier = ""
  let page: URL | undefined
  let discovery: OAuthDiscoveryState | undefined
  const clientMetadata: OAuthClientMetadata = {
    client_name: settings.clientName,
    redirect_uris: [options.redirectUrl ?? "http://127.0.0.1/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: settings.clientSecret === undefined ? "none" : "client_secret_post",
    ...(settings.scope === undefined ? {} : { scope: settings.scope }),
  }
  return {
    authorizationUrl: () => page,
    get redirectUrl() {
      return options.redirectUrl ?? "http://127.0.0.1/callback"
    },
    clientMetadata,
    ...(settings.clientMetadataUrl === undefined ? {} : { clientMetadataUrl: settings.clientMetadataUrl }),
    ...(options.state === undefined ? {} : { state: () => options.state ?? "" }),
    clientInformation: () => configuredClient(settings) ?? storedClient(store, options.redirectUrl),
    saveClientInformation: (client) => {
      store.writeClient({ ...client, redirect_uri: options.redirectUrl })
    },
    tokens: () => storedTokens(store),
    saveTokens: (tokens) => {
      const expires = tokens.expires_in === undefined ? {} : { expires_at: clock.now() / 1000 + tokens.expires_in }
      store.writeTokens({ ...tokens, ...expires })
    },
    redirectToAuthorization: (url) => {
      page = url
    },
    saveCodeVerifier: (code) => {
      verifier = code
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (found) => {
      discovery = found
    },
    discoveryState: () => discovery,
    invalidateCredentials: (scope) => {
      if (scope === "all" || scope === "client") store.forget("all")
      if (scope === "tokens") store.forget("tokens")
    },
  }
}

const REFRESH_BEFORE_EXPIRY_S = 60
const LOCK_WAIT_MS = 30_000

/**
 * The stored login of a server, for sessions. It is refreshed before it expires and when the server refuses it. Refreshes of this and of
 * other processes exclude each other, because a refresh token works only once.
 */
export function createStoredLogin(
  options: OAuthOptions & { readonly serverUrl: URL; readonly fetchFn: FetchLike },
): AuthProvider | undefined {
  const store = openOAuthStore(options.home, options.server)
  if (store.readTokens() === undefined) return undefined
  const provider = createOAuthProvider(options)
  const { serverUrl, fetchFn } = options
  let used = 0
  let recovery: Promise<void> | undefined
  const recover = async (response: Response | undefined): Promise<void> => {
    const lock = options.home.file("mcp-tokens", ".lock")
    await withFileLock(lock, { waitMs: LOCK_WAIT_MS }, async () => {
      // Another process has refreshed it in the meantime.
      if (store.tokensChangedAt() !== used) return
      const { resourceMetadataUrl, scope } = response === undefined ? {} : extractWWWAuthenticateParams(response)
      const outcome = await auth(provider, {
        serverUrl,
        fetchFn,
        ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
        ...(scope === undefined ? {} : { scope }),
      })
      if (outcome !== "AUTHORIZED") throw new UnauthorizedError("the login has expired")
    })
  }
  const shared = (response?: Response): Promise<void> =>
    (recovery ??= recover(response).finally(() => {
      recovery = undefined
    }))
  return {
    token: async () => {
      const expiry = store.readTokens()?.["expires_at"]
      const isExpiring = typeof expiry === "number" && expiry - REFRESH_BEFORE_EXPIRY_S < options.clock.now() / 1000
      used = store.tokensChangedAt()
      if (isExpiring && store.readTokens()?.["refresh_token"] !== undefined) {
        // If it fails, the server's answer to the old token decides.
        await shared().catch(() => undefined)
        used = store.tokensChangedAt()
      }
      const token = store.readTokens()?.["access_token"]
      return typeof token === "string" ? token : undefined
    },
    onUnauthorized: ({ response }) => shared(response),
  }
}

function configuredClient({ clientId, clientSecret }: OAuthSettings): OAuthClientInformationMixed | undefined {
  if (clientId === undefined) return undefined
  return { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) }
}

/** A registered client is bound to its redirect address: with another port it has to register again. */
function storedClient(store: OAuthStore, redirectUrl: string | undefined): StoredOAuthClientInformation | undefined {
  const stored = store.readClient()
  const clientId = stored?.["client_id"]
  if (stored === undefined || typeof clientId !== "string") return undefined
  if (redirectUrl !== undefined && stored["redirect_uri"] !== redirectUrl) return undefined
  const { redirect_uri: _redirect, required_scope: _scope, ...client } = stored
  return { ...client, client_id: clientId }
}

function storedTokens(store: OAuthStore): StoredOAuthTokens | undefined {
  const stored = store.readTokens()
  const { access_token: token, token_type: type } = stored ?? {}
  if (stored === undefined || typeof token !== "string") return undefined
  return { ...stored, access_token: token, token_type: typeof type === "string" ? type : "Bearer" }
}
