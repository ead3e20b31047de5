import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { fail, ok, type Result } from "../../base/result.ts"
import { orAborted } from "../../base/abort.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { OAuthEndpoints } from "./oauth-endpoints.ts"
import { requestTokens, type TokenAnswer, type TokenOptions } from "./oauth-token.ts"

/** A login in the browser that has been opened and waits for the person. */
export interface BrowserLogin extends AsyncDisposable {
  /** Where the person goes. */
  readonly url: string
  /** Waits until the browser comes back to this machine. */
  finish(options: TokenOptions): Promise<TokenAnswer>
  /** For a browser on another machine: the address it ended at, or the code alone. */
  redeem(pasted: string, options: TokenOptions): Promise<TokenAnswer>
}

const CALLBACK = "/callback"

/** Starts a login with a proof key (PKCE): listens on loopback for the answer and gives the address to open. */
export async function startBrowserLogin(endpoints: OAuthEndpoints): Promise<Result<BrowserLogin>> {
  if (endpoints.authorizeUrl === undefined) {
    return fail(
      `${endpoints.provider} has no address for a login in the browser: set it with \`hermes config set providers.${endpoints.provider}.oauth.authorize_url …\``,
    )
  }
  const { randomBytes, createHash } = process.getBuiltinModule("node:crypto")
  const verifier = randomBytes(32).toString("base64url")
  const state = randomBytes(16).toString("base64url")
  const arrival = Promise.withResolvers<Arrival>()
  const server = createServer((request, response) => {
    const arrived = readArrival(request, response, state)
    if (arrived !== undefined) arrival.resolve(arrived)
  })
  const listening = await listen(server, endpoints.redirectPort ?? 0)
  if (!listening.ok) return listening
  const redirect = `http://127.0.0.1:${listening.value}${CALLBACK}`
  const redeemCode = async (code: string, options: TokenOptions): Promise<TokenAnswer> => {
    const form = { grant_type: "authorization_code", code, redirect_uri: redirect, code_verifier: verifier }
    return await requestTokens(endpoints, form, options)
  }
  const redeemArrival = async (arrived: Arrival, options: TokenOptions): Promise<TokenAnswer> =>
    arrived.kind === "code"
      ? await redeemCode(arrived.code, options)
      : { kind: "refused", code: arrived.code, message: `the login was not granted (${arrived.code})` }

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
      const arrived = await orAborted(arrival.promise, options.signal)
      if (arrived === undefined) return { kind: "unreachable", message: "nobody finished the login in time" }
      return await redeemArrival(arrived, options)
    },
    redeem: async (pasted, options) => {
      const arrived = readPasted(pasted.trim(), state)
      return arrived.ok
        ? await redeemArrival(arrived.value, options)
        : { kind: "refused", code: "bad_answer", message: arrived.error }
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

type Arrival = { readonly kind: "code"; readonly code: string } | { readonly kind: "error"; readonly code: string }

/** Only the answer to our own question counts: another page that knows the port cannot put its login in place of ours. */
function readArrival(request: IncomingMessage, response: ServerResponse, state: string): Arrival | undefined {
  const url = new URL(request.url ?? "/", "http://127.0.0.1")
  const answer = (status: number, text: string): void => {
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(`${text}\n`)
  }
  if (url.pathname !== CALLBACK) {
    answer(404, "Nothing is here.")
    return undefined
  }
  if (url.searchParams.get("state") !== state) {
    answer(400, "This is not the login that was started last. Start it again from the terminal.")
    return undefined
  }
  const arrival = arrivalIn(url.searchParams)
  if (arrival === undefined) answer(400, "The answer holds no code. Start the login again from the terminal.")
  else if (arrival.kind === "code") answer(200, "Hermes has the login. You can close this page.")
  else answer(200, "The login was not granted. You can close this page.")
  return arrival
}

function arrivalIn(query: URLSearchParams): Arrival | undefined {
  const error = query.get("error")
  if (error !== null) return { kind: "error", code: error.slice(0, 60) }
  const code = query.get("code") ?? ""
  return code === "" ? undefined : { kind: "code", code }
}

/** The whole address, `code#state`, or the code alone. */
function readPasted(pasted: string, state: string): Result<Arrival> {
  const url = URL.canParse(pasted) ? new URL(pasted) : undefined
  const [bare = "", bareState] = pasted.split("#")
  const given = url === undefined ? bareState : (url.searchParams.get("state") ?? "")
  if (given !== undefined && given !== state) return fail("that answer belongs to another login; start again")
  const arrival: Arrival | undefined =
    url !== undefined ? arrivalIn(url.searchParams) : bare === "" ? undefined : { kind: "code", code: bare }
  return arrival === undefined ? fail("there is no code in that answer; paste the whole address") : ok(arrival)
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
