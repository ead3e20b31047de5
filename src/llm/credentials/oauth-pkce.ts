import { fail, ok, type Result } from "../../base/result.ts"
import type { OAuthEndpoints } from "./oauth-endpoints.ts"
import { listenForRedirect, type Redirect } from "./oauth-redirect.ts"
import { requestTokens, type TokenOutcome, type TokenOptions } from "./oauth-token.ts"

/** A browser login that has been started and waits for the user. */
export interface BrowserLogin extends AsyncDisposable {
  /** The page to open in the browser. */
  readonly url: string
  /** Waits for the browser's redirect to this machine. */
  finish(options: TokenOptions): Promise<TokenOutcome>
  /** For a browser on another machine: takes the address of the last page, or the code alone. */
  redeem(pasted: string, options: TokenOptions): Promise<TokenOutcome>
}

/** Starts an OAuth login with PKCE: listens on loopback for the redirect and returns the address to open. */
export async function startBrowserLogin(endpoints: OAuthEndpoints): Promise<Result<BrowserLogin>> {
  if (endpoints.authorizeUrl === undefined) {
    return fail(
      `${endpoints.provider} has no authorization endpoint: set it with \`hermes config set providers.${endpoints.provider}.oauth.authorize_url …\``,
    )
  }
  const { randomBytes, createHash } = process.getBuiltinModule("node:crypto")
  const verifier = randomBytes(32).toString("base64url")
  const state = randomBytes(16).toString("base64url")
  const listening = await listenForRedirect({ state, port: endpoints.redirectPort ?? 0 })
  if (!listening.ok) return listening
  const { redirectUrl: redirect } = listening.value
  const redeemCode = async (code: string, options: TokenOptions): Promise<TokenOutcome> => {
    const form = { grant_type: "authorization_code", code, redirect_uri: redirect, code_verifier: verifier }
    return await requestTokens(endpoints, form, options)
  }
  const redeemRedirect = async (result: Redirect, options: TokenOptions): Promise<TokenOutcome> =>
    result.kind === "code"
      ? await redeemCode(result.code, options)
      : { kind: "refused", code: result.code, message: `the login was not granted (${result.code})` }

  const url = new URL(endpoints.authorizeUrl)
  const query = {
    response_type: "code",
    client_id: endpoints.clientId,
    redirect_uri: redirect,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    state,
    ...(endpoints.scope === undefined ? {} : { scope: endpoints.scope }),
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)

  return ok({
    url: url.href,
    finish: async (options) => {
      const result = await listening.value.received(options.signal)
      if (result === undefined) return { kind: "unreachable", message: "the login was not completed in time" }
      return await redeemRedirect(result, options)
    },
    redeem: async (pasted, options) => {
      const result = listening.value.readPasted(pasted)
      return result.ok
        ? await redeemRedirect(result.value, options)
        : { kind: "refused", code: "invalid_response", message: result.error }
    },
    [Symbol.asyncDispose]: async () => {
      await listening.value[Symbol.asyncDispose]()
    },
  })
}
