import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"

import { isRecord, parseJson } from "../../../src/base/json.ts"

/** An MCP server over HTTP that wants a login, with its authorization server at the same address. */
export interface OAuthServer extends AsyncDisposable {
  readonly url: string
  /** What clients did: `register`, `authorize`, `code`, `refresh`, `call`. */
  readonly log: string[]
  /** Makes the server forget every token that it gave out, and refuse to refresh where `refresh` is false. */
  revoke(options?: { readonly refresh?: boolean }): void
  /** The page answers with this error instead of a code. */
  deny(error: string): void
}

interface PendingLogin {
  readonly challenge: string
  readonly redirect: string
  readonly client: string
}

export async function startOAuthServer({ expiresIn = 3600 } = {}): Promise<OAuthServer> {
  const log: string[] = []
  const pending = new Map<string, PendingLogin>()
  let count = 0
  let accessToken: string | undefined
  let refreshToken: string | undefined
  let canRefresh = true
  let denial: string | undefined

  const grant = (): Answer => {
    count += 1
    accessToken = `access-${count}`
    refreshToken = `refresh-${count}`
    const lifetime = count === 1 ? expiresIn : 3600
    return json({ access_token: accessToken, refresh_token: refreshToken, token_type: "Bearer", expires_in: lifetime })
  }
  const refused = (error: string): Answer => json({ error }, 400)

  const token = (form: URLSearchParams): Answer => {
    if (form.get("grant_type") === "refresh_token") {
      log.push("refresh")
      // A refresh token works only once.
      if (!canRefresh || form.get("refresh_token") !== refreshToken) return refused("invalid_grant")
      return grant()
    }
    log.push("code")
    const code = form.get("code") ?? ""
    const login = pending.get(code)
    pending.delete(code)
    const verifier = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url")
    const isSame =
      login !== undefined &&
      login.challenge === verifier &&
      login.redirect === form.get("redirect_uri") &&
      login.client === form.get("client_id")
    return isSame ? grant() : refused("invalid_grant")
  }

  const authorize = ({ searchParams: given }: URL): Answer => {
    log.push("authorize")
    const redirect = new URL(given.get("redirect_uri") ?? "")
    redirect.searchParams.set("state", given.get("state") ?? "")
    if (denial !== undefined) redirect.searchParams.set("error", denial)
    else {
      if (given.get("code_challenge_method") !== "S256") return refused("invalid_request")
      const code = `code-${pending.size + 1}`
      pending.set(code, {
        challenge: given.get("code_challenge") ?? "",
        redirect: given.get("redirect_uri") ?? "",
        client: given.get("client_id") ?? "",
      })
      redirect.searchParams.set("code", code)
    }
    return { status: 302, headers: { location: redirect.href }, body: "" }
  }

  const answerTo = (request: IncomingMessage, url: URL, body: string): Answer => {
    const { origin } = url
    switch (url.pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return json({ resource: `${origin}/mcp`, authorization_servers: [origin] })
      case "/.well-known/oauth-authorization-server":
        return json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ["code"],
          grant_types_supported: ["authorization_code", "refresh_token"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
        })
      case "/register": {
        log.push("register")
        const wanted = parseJson(body)
        return json({ ...(isRecord(wanted) ? wanted : {}), client_id: `client-${log.length}` }, 201)
      }
      case "/authorize":
        return authorize(url)
      case "/token":
        return token(new URLSearchParams(body))
      case "/mcp":
        if (accessToken === undefined || request.headers.authorization !== `Bearer ${accessToken}`) {
          const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`
          return { status: 401, headers: { "www-authenticate": `Bearer resource_metadata="${metadata}"` }, body: "" }
        }
        return request.method === "POST" ? mcpAnswer(parseJson(body), log) : { status: 405, headers: {}, body: "" }
      default:
        return { status: 404, headers: {}, body: "" }
    }
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const url = new URL(request.url ?? "/", `http://${request.headers.host}`)
      const { status, headers, body } = answerTo(request, url, Buffer.concat(chunks).toString("utf8"))
      response.writeHead(status, headers).end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port }: AddressInfo = Object(server.address())
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    log,
    revoke: ({ refresh = true } = {}) => {
      accessToken = undefined
      canRefresh = refresh
    },
    deny: (error) => {
      denial = error
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

function json(value: object, status = 200): Answer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) }
}

function mcpAnswer(message: unknown, log: string[]): Answer {
  if (!isRecord(message) || message["id"] === undefined) return { status: 202, headers: {}, body: "" }
  const { id, method } = message
  switch (method) {
    case "initialize": {
      const serverInfo = { name: "private", version: "1.0.0" }
      return json({
        jsonrpc: "2.0",
        id,
        result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo },
      })
    }
    case "tools/list":
      log.push("call")
      return json({
        jsonrpc: "2.0",
        id,
        result: { tools: [{ name: "secret", description: "A tool.", inputSchema: { type: "object" } }] },
      })
    default:
      return json({ jsonrpc: "2.0", id, error: { code: -32_601, message: "no such method" } })
  }
}
