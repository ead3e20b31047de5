import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { fail, ok, type Result } from "../../base/result.ts"
import { orAborted } from "../../base/abort.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { OAuthEndpoints } from "./oauth-endpoints.ts"
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

const CALLBACK = "/callback"

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
  const redirected = Promise.withResolvers<Redirect>()
  const server = createServer((request, response) => {
    const result = readRedirect(request, response, state)
    if (result !== undefined) redirected.resolve(result)
  })
  const listening = await listen(server, endpoints.redirectPort ?? 0)
  if (!listening.ok) return listening
  const redirect = `http://127.0.0.1:${listening.value}${CALLBACK}`
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
      const result = await orAborted(redirected.promise, options.signal)
      if (result === undefined) return { kind: "unreachable", message: "the login was not completed in time" }
      return await redeemRedirect(result, options)
    },
    redeem: async (pasted, options) => {
      const result = readPasted(pasted.trim(), state)
      return result.ok
        ? await redeemRedirect(result.value, options)
        : { kind: "refused", code: "invalid_response", message: result.error }
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

type Redirect = { readonly kind: "code"; readonly code: string } | { readonly kind: "error"; readonly code: string }

/** Accepts only a redirect with our `state`: otherwise another page that knows the port could inject its own login. */
function readRedirect(request: IncomingMessage, response: ServerResponse, state: string): Redirect | undefined {
  const url = new URL(request.url ?? "/", "http://127.0.0.1")
  const respond = (status: number, text: string): void => {
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(`${text}\n`)
  }
  if (url.pathname !== CALLBACK) {
    respond(404, "Not found.")
    return undefined
  }
  if (url.searchParams.get("state") !== state) {
    respond(400, "This is not the login that was started last. Start it again from the terminal.")
    return undefined
  }
  const redirected = parseRedirect(url.searchParams)
  if (redirected === undefined) respond(400, "The redirect contains no code. Start the login again from the terminal.")
  else if (redirected.kind === "code") respond(200, "Hermes is logged in. You can close this page.")
  else respond(200, "The login was not granted. You can close this page.")
  return redirected
}

function parseRedirect(query: URLSearchParams): Redirect | undefined {
  const error = query.get("error")
  if (error !== null) return { kind: "error", code: error.slice(0, 60) }
  const code = query.get("code") ?? ""
  return code === "" ? undefined : { kind: "code", code }
}

/** Accepts the whole address, `code#state`, or the code alone. */
function readPasted(pasted: string, state: string): Result<Redirect> {
  const url = URL.canParse(pasted) ? new URL(pasted) : undefined
  const [bare = "", bareState] = pasted.split("#")
  const given = url === undefined ? bareState : (url.searchParams.get("state") ?? "")
  if (given !== undefined && given !== state) return fail("this address belongs to another login; start again")
  const redirected: Redirect | undefined =
    url !== undefined ? parseRedirect(url.searchParams) : bare === "" ? undefined : { kind: "code", code: bare }
  return redirected === undefined ? fail("the pasted text contains no code; paste the whole address") : ok(redirected)
}

async function listen(server: Server, port: number): Promise<Result<number>> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(port, "127.0.0.1", resolve)
    })
  } catch (cause) {
    return fail(`cannot wait for the browser on port ${port}: ${errorMessage(cause)}`)
  }
  const address = server.address()
  return typeof address === "object" && address !== null ? ok(address.port) : fail("cannot wait for the browser")
}
