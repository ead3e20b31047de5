import { createHash } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** An OAuth server on loopback with authorisation, token and device endpoints. A refresh token works once. */
export interface AuthorizationServer extends AsyncDisposable {
  readonly url: string
  /** Every request to the token endpoint, in order. */
  readonly tokenRequests: readonly Readonly<Record<string, string>>[]
  readonly deviceRequests: readonly Readonly<Record<string, string>>[]
  /** Issues tokens, as an earlier login would have. */
  issue(): IssuedTokens
  /** Sets the response to the next token request. */
  failNext(response: { readonly status: number; readonly body: unknown }): void
  /** Grants device logins, which are pending until then. */
  grantDevice(): void
}

export interface IssuedTokens {
  readonly accessToken: string
  readonly refreshToken: string
}

export interface AuthorizationServerOptions {
  /** Seconds that a device login must wait between two token requests. */
  readonly interval?: number
  /** Delays the response to a token request until this resolves. */
  readonly beforeTokenResponse?: () => Promise<void>
  /** Redirects from the authorisation endpoint with this error instead of a code. */
  readonly authorizeError?: string
}

export async function startAuthorizationServer(options: AuthorizationServerOptions = {}): Promise<AuthorizationServer> {
  const tokenRequests: Record<string, string>[] = []
  const deviceRequests: Record<string, string>[] = []
  const refreshTokens = new Set<string>()
  const codes = new Map<string, { readonly challenge: string; readonly redirect: string }>()
  const scripted: { readonly status: number; readonly body: unknown }[] = []
  let serial = 0
  let deviceGranted = false

  const issue = (): IssuedTokens => {
    serial += 1
    const issued = { accessToken: `access-token-${serial}`, refreshToken: `refresh-token-${serial}` }
    refreshTokens.add(issued.refreshToken)
    return issued
  }
  const tokensBody = () => {
    const issued = issue()
    return {
      access_token: issued.accessToken,
      refresh_token: issued.refreshToken,
      token_type: "Bearer",
      expires_in: 3600,
    }
  }
  const grantTokens = (form: Record<string, string>): { status: number; body: unknown } => {
    switch (form["grant_type"]) {
      case "refresh_token":
        if (!refreshTokens.delete(form["refresh_token"] ?? "")) return error("invalid_grant")
        return { status: 200, body: tokensBody() }
      case "authorization_code": {
        const code = codes.get(form["code"] ?? "")
        codes.delete(form["code"] ?? "")
        const challenge = createHash("sha256")
          .update(form["code_verifier"] ?? "")
          .digest("base64url")
        if (code?.challenge !== challenge || code.redirect !== form["redirect_uri"]) return error("invalid_grant")
        return { status: 200, body: tokensBody() }
      }
      case "urn:ietf:params:oauth:grant-type:device_code":
        if (form["device_code"] !== "device-1") return error("invalid_grant")
        return deviceGranted ? { status: 200, body: tokensBody() } : error("authorization_pending")
      case undefined:
      default:
        return error("unsupported_grant_type")
    }
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((cause: unknown) => response.writeHead(500).end(String(cause)))
  })
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://127.0.0.1")
    const form = Object.fromEntries(new URLSearchParams(await readBody(request)))
    if (url.pathname === "/authorize") {
      const redirect = new URL(url.searchParams.get("redirect_uri") ?? "")
      redirect.searchParams.set("state", url.searchParams.get("state") ?? "")
      if (options.authorizeError === undefined) {
        const code = `code-${codes.size + 1}`
        codes.set(code, {
          challenge: url.searchParams.get("code_challenge") ?? "",
          redirect: url.searchParams.get("redirect_uri") ?? "",
        })
        redirect.searchParams.set("code", code)
      } else redirect.searchParams.set("error", options.authorizeError)
      response.writeHead(302, { location: redirect.href }).end()
      return
    }
    if (url.pathname === "/device") {
      deviceRequests.push(form)
      sendJson(response, 200, {
        device_code: "device-1",
        user_code: "ABCD-EFGH",
        verification_uri: `http://127.0.0.1:${port}/activate`,
        expires_in: 600,
        interval: options.interval ?? 5,
      })
      return
    }
    if (url.pathname === "/.well-known/openid-configuration") {
      sendJson(response, 200, {
        token_endpoint: `http://127.0.0.1:${port}/token`,
        authorization_endpoint: `http://127.0.0.1:${port}/authorize`,
        device_authorization_endpoint: `http://127.0.0.1:${port}/device`,
      })
      return
    }
    if (url.pathname !== "/token") {
      sendJson(response, 404, {})
      return
    }
    tokenRequests.push(form)
    await options.beforeTokenResponse?.()
    const { status, body } = scripted.shift() ?? grantTokens(form)
    sendJson(response, status, body)
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    tokenRequests,
    deviceRequests,
    issue,
    failNext: (response) => void scripted.push(response),
    grantDevice: () => void (deviceGranted = true),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function error(code: string): { status: number; body: unknown } {
  return { status: 400, body: { error: code, error_description: `the server says ${code}` } }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) if (chunk instanceof Buffer) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}
