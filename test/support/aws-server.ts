import { createServer } from "node:http"
import type { IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"

import { signRequest } from "../../src/llm/aws/sign.ts"

/** The AWS services that issue credentials, on loopback: STS, the SSO portal, SSO-OIDC and the instance metadata service. */
export interface AwsServer extends AsyncDisposable {
  readonly url: string
  /** The requests in order: `AssumeRole arn`, `GetRoleCredentials account role`, `CreateToken refresh-token`, … */
  readonly requests: readonly string[]
  /** The forms that STS received, in order. */
  readonly forms: readonly Readonly<Record<string, string>>[]
  /** Environment variables that point every service to this server. */
  readonly variables: Readonly<Record<string, string>>
  /** Tokens that the SSO portal accepts. */
  readonly ssoTokens: Set<string>
  /** Sets the response to the next request, for any service. */
  failNext(response: { readonly status: number; readonly body: string }): void
}

export interface AwsServerOptions {
  /** Secret by access key id. STS accepts only requests signed with one of them. */
  readonly secrets?: Readonly<Record<string, string>>
  /** When the issued credentials expire, in epoch milliseconds. */
  readonly expiresAt?: number
}

interface HttpResponse {
  readonly status: number
  readonly body: string
}

export async function startAwsServer(options: AwsServerOptions = {}): Promise<AwsServer> {
  const requests: string[] = []
  const forms: Record<string, string>[] = []
  const ssoTokens = new Set<string>()
  const scripted: HttpResponse[] = []
  const expiresAt = options.expiresAt ?? Date.UTC(2040, 0, 1)
  let serial = 0

  const sts = (request: IncomingMessage, body: string): HttpResponse => {
    const form = Object.fromEntries(new URLSearchParams(body))
    forms.push(form)
    const signer = signerOf(request, body, options.secrets ?? {})
    requests.push(`${form["Action"]} ${form["RoleArn"]}${signer === undefined ? "" : ` by ${signer}`}`)
    if (form["Action"] === "AssumeRole" && signer === undefined)
      return stsError("The security token included is invalid.")
    serial += 1
    return {
      status: 200,
      body: `<${form["Action"]}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${form["Action"]}Result><Credentials>
        <AccessKeyId>ASIA-ROLE-${serial}</AccessKeyId><SecretAccessKey>role+secret/${serial}</SecretAccessKey>
        <SessionToken>role-token-${serial}</SessionToken><Expiration>${new Date(expiresAt).toISOString()}</Expiration>
        </Credentials></${form["Action"]}Result></${form["Action"]}Response>`,
    }
  }
  const portal = (request: IncomingMessage, url: URL): HttpResponse => {
    const [account, role] = [url.searchParams.get("account_id"), url.searchParams.get("role_name")]
    requests.push(`GetRoleCredentials ${account} ${role}`)
    if (!ssoTokens.has(String(request.headers["x-amz-sso_bearer_token"])))
      return json({ message: "Session token not found or invalid" }, 401)
    if (role === "Nobody") return json({ message: "No access" }, 403)
    const roleCredentials = {
      accessKeyId: "ASIA-SSO",
      secretAccessKey: "sso-secret",
      sessionToken: "sso-token",
      expiration: expiresAt,
    }
    return json({ roleCredentials })
  }
  const oidc = (body: string): HttpResponse => {
    const fields = JSON.parse(body) as Record<string, string>
    requests.push(`CreateToken ${fields["grantType"]} ${fields["refreshToken"]}`)
    if (
      fields["clientId"] !== "client" ||
      fields["clientSecret"] !== "client-secret" ||
      fields["refreshToken"] !== "refresh-1"
    )
      return json({ error: "invalid_grant" }, 400)
    ssoTokens.add("access-2")
    return json({ accessToken: "access-2", expiresIn: 28_800, refreshToken: "refresh-2", tokenType: "Bearer" })
  }
  const metadata = (request: IncomingMessage, path: string): HttpResponse => {
    requests.push(`${request.method} ${path}`)
    if (path === "/latest/api/token")
      return request.method === "PUT" && request.headers["x-aws-ec2-metadata-token-ttl-seconds"] !== undefined
        ? { status: 200, body: "imds-token" }
        : { status: 405, body: "" }
    if (path.startsWith("/latest/") && request.headers["x-aws-ec2-metadata-token"] !== "imds-token")
      return { status: 401, body: "" }
    if (path.endsWith("/security-credentials/")) return { status: 200, body: "machine-role\n" }
    return json({
      Code: "Success",
      AccessKeyId: path.startsWith("/latest/") ? "ASIA-MACHINE" : "ASIA-TASK",
      SecretAccessKey: "machine-secret",
      Token: "machine-token",
      Expiration: new Date(expiresAt).toISOString(),
    })
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8")
      const url = new URL(request.url ?? "/", "http://127.0.0.1")
      const route = (): HttpResponse => {
        if (url.pathname === "/") return sts(request, body)
        if (url.pathname === "/federation/credentials") return portal(request, url)
        if (url.pathname === "/token") return oidc(body)
        return metadata(request, url.pathname)
      }
      const { status, body: text } = scripted.shift() ?? route()
      response.writeHead(status).end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    requests,
    forms,
    variables: {
      AWS_ENDPOINT_URL_STS: url,
      AWS_ENDPOINT_URL_SSO: url,
      AWS_ENDPOINT_URL_SSO_OIDC: url,
      AWS_EC2_METADATA_SERVICE_ENDPOINT: url,
    },
    ssoTokens,
    failNext: (response) => void scripted.push(response),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function json(body: unknown, status = 200): HttpResponse {
  return { status, body: JSON.stringify(body) }
}

function stsError(message: string): HttpResponse {
  return {
    status: 403,
    body: `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>${message}</Message></Error></ErrorResponse>`,
  }
}

/** Returns the access key id if the signature matches the received request. */
function signerOf(
  request: IncomingMessage,
  body: string,
  secrets: Readonly<Record<string, string>>,
): string | undefined {
  const authorization = request.headers.authorization ?? ""
  const [, id = "", region = "", names = ""] =
    /Credential=([^/]+)\/\d{8}\/([^/]+)\/sts\/aws4_request, SignedHeaders=([^,]+)/.exec(authorization) ?? []
  const secret = secrets[id]
  const date = String(request.headers["x-amz-date"])
  if (secret === undefined) return undefined
  const token = request.headers["x-amz-security-token"]
  const signed = names.split(";").filter((name) => !["host", "x-amz-date", "x-amz-security-token"].includes(name))
  const expected = signRequest({
    method: "POST",
    url: new URL(request.url ?? "/", `http://${request.headers.host}`),
    headers: Object.fromEntries(signed.map((name) => [name, String(request.headers[name])])),
    body,
    credentials: {
      accessKeyId: id,
      secretAccessKey: secret,
      ...(token === undefined ? {} : { sessionToken: String(token) }),
    },
    region,
    service: "sts",
    now: Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z")),
  })
  return expected["authorization"] === authorization ? id : undefined
}
