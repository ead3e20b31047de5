import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

import { orAborted } from "../../base/abort.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"

/** Waits on loopback for the browser to return from a login page. */
export interface RedirectListener extends AsyncDisposable {
  readonly redirectUrl: string
  /** Undefined when the signal aborts first. */
  received(signal: AbortSignal): Promise<Redirect | undefined>
  /** For a browser on another machine: reads the address of its last page, or the code alone. */
  readPasted(pasted: string): Result<Redirect>
}

const CALLBACK = "/callback"

/** Only a redirect with this `state` is accepted. Port 0 takes any free port. */
export async function listenForRedirect({
  state,
  port,
}: {
  readonly state: string
  readonly port: number
}): Promise<Result<RedirectListener>> {
  const redirected = Promise.withResolvers<Redirect>()
  const server = createServer((request, response) => {
    const result = readRedirect(request, response, state)
    if (result !== undefined) redirected.resolve(result)
  })
  const listening = await listen(server, port)
  if (!listening.ok) return listening
  return ok({
    redirectUrl: `http://127.0.0.1:${listening.value}${CALLBACK}`,
    received: (signal) => orAborted(redirected.promise, signal),
    readPasted: (pasted) => readPasted(pasted.trim(), state),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

/** How the browser came back: with a code, or with an error code. `issuer` is the server that says so, if it does. */
export type Redirect =
  | { readonly kind: "code"; readonly code: string; readonly issuer?: string }
  | { readonly kind: "error"; readonly code: string }

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
  const issuer = query.get("iss")
  return code === "" ? undefined : { kind: "code", code, ...(issuer === null ? {} : { issuer }) }
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
