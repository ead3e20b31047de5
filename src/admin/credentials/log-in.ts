import { ok, type Result } from "../../base/result.ts"
import { addLogin } from "../../llm/credentials/login-edits.ts"
import { loginTrust } from "../../llm/credentials/login-trust.ts"
import { startDeviceLogin } from "../../llm/credentials/oauth-device.ts"
import { oauthEndpoints, type OAuthEndpoints } from "../../llm/credentials/oauth-endpoints.ts"
import { startBrowserLogin, type BrowserLogin } from "../../llm/credentials/oauth-pkce.ts"
import type { TokenOptions, TokenOutcome } from "../../llm/credentials/oauth-token.ts"
import type { TlsTrust } from "../../llm/http/tls-trust.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { ProviderCredentials } from "./provider-credentials.ts"

/** How long the user may take on the provider's pages. */
const LOGIN_TIMEOUT_MS = 10 * 60_000

/** What a surface shows and asks during a login. */
export interface LoginPorts {
  /** Shows the page that the user opens on any device, and the code to type there (empty where the page needs none). */
  showDeviceCode(page: { readonly verificationUrl: string; readonly userCode: string }): void
  /** Shows the page that the user logs in at, and may open it. */
  showLoginPage(url: string): Promise<void>
  /**
   * Asks for the address that the browser was redirected to, for a browser on another machine; undefined when the user cannot be
   * asked. Without this port Hermes waits for the redirect on a port of this machine.
   */
  readonly askForRedirect?: () => Promise<string | undefined>
}

export interface LoginOptions {
  readonly label?: string | undefined
  /** Timeout of each request to the login server. */
  readonly requestTimeoutMs: number
  /** A file of certificate authorities for the login server, stored with the login. `origin` names it in error messages. */
  readonly caBundle?: { readonly path: string; readonly origin: string } | undefined
  /** Does not check the certificate of the login server, for this login only. */
  readonly insecure: boolean
  readonly ports: LoginPorts
  readonly signal: AbortSignal
}

/** Logs in at a provider and stores the login: in the browser where the provider has a page for it, otherwise by device code. Returns the label. */
export async function logIn(target: ProviderCredentials, options: LoginOptions): Promise<Result<string, AdminFailure>> {
  const { config, environment, clock } = target.home
  const { caBundle, ports, signal } = options
  const trust = trustFor(target, options)
  if (!trust.ok) return failed(trust.error)
  const request = { environment, clock, signal, timeoutMs: options.requestTimeoutMs, trust: trust.value }
  const endpoints = await oauthEndpoints(target.provider, { config, ...request })
  if (!endpoints.ok) return failed(endpoints.error)
  const { authorizeUrl, deviceUrl, clientId } = endpoints.value
  const flow = authorizeUrl === undefined && deviceUrl !== undefined ? "device_code" : "loopback_pkce"
  const waiting = { ...request, signal: AbortSignal.any([signal, AbortSignal.timeout(LOGIN_TIMEOUT_MS)]) }
  const runFlow = flow === "device_code" ? byDeviceCode : inBrowser
  const outcome = await runFlow(endpoints.value, { ports, waiting })
  if (!outcome.ok) return outcome
  if (outcome.value.kind !== "tokens") return failed(outcome.value.message)
  const { tokens } = outcome.value
  const bundle = caBundle === undefined ? {} : { bundle: caBundle.path }
  const added = await addLogin(target.location, { tokens, flow, clientId, label: options.label, ...bundle })
  return added.ok ? added : failed(added.error)
}

/** Applies to the requests of this login only, not to later requests to the model. */
function trustFor({ provider, home }: ProviderCredentials, options: LoginOptions): Result<TlsTrust | undefined> {
  if (options.insecure) return ok({ rejectUnauthorized: false })
  return loginTrust(provider, { config: home.config, bundle: options.caBundle })
}

interface FlowOptions {
  readonly ports: LoginPorts
  readonly waiting: TokenOptions
}

async function byDeviceCode(
  endpoints: OAuthEndpoints,
  { ports, waiting }: FlowOptions,
): Promise<Result<TokenOutcome, AdminFailure>> {
  const login = await startDeviceLogin(endpoints, waiting)
  if (!login.ok) return failed(login.error)
  ports.showDeviceCode(login.value)
  return ok(await login.value.finish(waiting))
}

async function inBrowser(endpoints: OAuthEndpoints, options: FlowOptions): Promise<Result<TokenOutcome, AdminFailure>> {
  const login = await startBrowserLogin(endpoints)
  if (!login.ok) return failed(login.error)
  try {
    return await finishInBrowser(login.value, options)
  } finally {
    await login.value[Symbol.asyncDispose]()
  }
}

async function finishInBrowser(
  login: BrowserLogin,
  { ports, waiting }: FlowOptions,
): Promise<Result<TokenOutcome, AdminFailure>> {
  await ports.showLoginPage(login.url)
  if (ports.askForRedirect === undefined) return ok(await login.finish(waiting))
  const pasted = await ports.askForRedirect()
  if (pasted === undefined) return failed("There is no terminal to paste the address into")
  return ok(await login.redeem(pasted, waiting))
}
