import { auth, computeScopeUnion, extractWWWAuthenticateParams } from "@modelcontextprotocol/client"
import type { FetchLike } from "@modelcontextprotocol/client"

import type { Clock } from "../../base/clock.ts"
import { secretHex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import { listenForRedirect } from "../../llm/credentials/oauth-redirect.ts"
import type { Redirect, RedirectListener } from "../../llm/credentials/oauth-redirect.ts"
import type { HttpTarget } from "../server-settings.ts"
import { openFetch } from "./http-target.ts"
import type { HttpAccess } from "./http-target.ts"
import { createOAuthProvider } from "./oauth-provider.ts"
import { openOAuthStore } from "./oauth-store.ts"

export interface LoginOptions extends HttpAccess {
  readonly home: Home
  readonly clock: Clock
  readonly server: string
  readonly target: HttpTarget
  /** Shows the user the page on which to log in. */
  readonly showPage: (url: string) => Promise<void>
  /** Asks for the address at which the browser ended, when it runs on another machine. Undefined when the user gives none. */
  readonly askForRedirect?: () => Promise<string | undefined>
  readonly signal: AbortSignal
}

/** Logs in to a server in the user's browser and stores the login. */
export async function logInToServer(options: LoginOptions): Promise<Result<undefined>> {
  const { target } = options
  const settings = target.oauth ?? { clientName: `Hermes (${options.server})`, timeoutMs: 300_000 }
  const state = secretHex(16)
  const listening = await listenForRedirect({ state, port: settings.redirectPort ?? 0 })
  if (!listening.ok) return listening
  const listener = listening.value
  const provider = createOAuthProvider({ ...options, settings, redirectUrl: listener.redirectUrl, state })
  const { fetch, close } = openFetch(target, options)
  try {
    const challenge = await readChallenge(target, { fetch, signal: options.signal })
    const store = openOAuthStore(options.home, options.server)
    const granted = store.readTokens()?.["scope"]
    const required = computeScopeUnion(typeof granted === "string" ? granted : undefined, store.readRequiredScope())
    const scope = settings.scope ?? (store.readRequiredScope() === undefined ? challenge.scope : required)
    const { resourceMetadataUrl } = challenge
    const request = {
      serverUrl: target.url,
      fetchFn: fetch,
      ...(scope === undefined ? {} : { scope }),
      ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
    }
    // Without this the SDK would use a login that is stored already.
    const outcome = await auth(provider, { ...request, forceReauthorization: true })
    if (outcome === "AUTHORIZED") return ok(undefined)
    const page = provider.authorizationUrl()
    if (page === undefined) return fail("the server named no login page")
    await options.showPage(page.href)
    const redirect = await receive(listener, options, settings.timeoutMs)
    if (!redirect.ok) return redirect
    if (redirect.value.kind === "error") return fail(`the login was not granted (${redirect.value.code})`)
    const { code, issuer } = redirect.value
    await auth(provider, { ...request, authorizationCode: code, ...(issuer === undefined ? {} : { iss: issuer }) })
    return ok(undefined)
  } catch (error) {
    return fail(errorMessage(error))
  } finally {
    close()
    await listener[Symbol.asyncDispose]()
  }
}

/** What the server says about its login when a request comes without one. */
async function readChallenge(
  { url, headers }: HttpTarget,
  { fetch, signal }: { readonly fetch: FetchLike; readonly signal: AbortSignal },
): Promise<ReturnType<typeof extractWWWAuthenticateParams>> {
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" }
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify(ping),
    signal,
  })
  await response.body?.cancel()
  return response.status === 401 || response.status === 403 ? extractWWWAuthenticateParams(response) : {}
}

async function receive(
  listener: RedirectListener,
  { signal, askForRedirect }: LoginOptions,
  timeoutMs: number,
): Promise<Result<Redirect>> {
  if (askForRedirect !== undefined) {
    const pasted = await askForRedirect()
    return pasted === undefined ? fail("no address was pasted") : listener.readPasted(pasted)
  }
  const redirect = await listener.received(AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]))
  return redirect === undefined ? fail("the login was not completed in time") : ok(redirect)
}
