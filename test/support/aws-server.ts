import { createServer } from "node:http"
import type { IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"

import { signRequest } from "../../src/llm/aws/sign.ts"

/** The services that hand out AWS keys, on loopback: STS, SSO portal, SSO-OIDC and the metadata of a machine. */
export interface AwsServer extends AsyncDisposable {
  readonly url: string
  /** What was asked, in order: `AssumeRole arn`, `GetRoleCredentials account role`, `CreateToken refresh-token`, … */
  readonly asked: readonly string[]
  /** The forms that STS got, in order. */
  readonly forms: readonly Readonly<Record<string, string>>[]
  /** Variables that lead every service here. */
  readonly variables: Readonly<Record<string, string>>
  /** Tokens that the SSO portal takes. */
  readonly ssoTokens: Set<string>
  /** The next answer of any service is this one. */
  refuseNext(answer: { readonly status: number; readonly body: string }): void
}

export interface AwsServerOptions {
  /** Secret by access key: whoever asks STS must have signed with one of them. */
  readonly secrets?: Readonly<Record<string, string>>
  /** Epoch milliseconds at which the keys it hands out end. */
  readonly keysEnd?: number
}

interface Answer {
  readonly status: number
  readonly body: string
}

export async function startAwsServer(options: AwsServerOptions = {}): Promise<AwsServer> {
  const asked: string[] = []
  const forms: Record<string, string>[] = []
  const ssoTokens = new Set<string>()
  const refusals: Answer[] = []
  const ends = options.keysEnd ?? Date.UTC(2040, 0, 1)
  let serial = 0

  const sts = (request: IncomingMessage, body: string): Answer => {
    const form = Object.fromEntries(new URLSearchParams(body))
    forms.push(form)
    const signer = signerOf(request, body, options.secrets ?? {})
    asked.push(`${form["Action"]} ${form["RoleArn"]}${signer === undefined ? "" : ` by ${signer}`}`)
    if (form["Action"] === "AssumeRole" && signer === undefined)
      return stsError("The security token included is invalid.")
    serial += 1
    return {
      status: 200,
      body: `<${form["Action"]}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${form["Action"]}Result><Credentials>
        <AccessKeyId>ASIA-ROLE-${serial}</AccessKeyId><SecretAccessKey>role+secret/${serial}</SecretAccessKey>
        <SessionToken>role-token-${serial}</SessionToken><Expiration>${new Date(ends).toISOString()}</Expiration>
        </Credentials></${form["Action"]}Result></${form["Action"]}Response>`,
    }
  }
  const portal = (request: IncomingMessage, url: URL): Answer => {
    const [account, role] = [url.searchParams.get("account_id"), url.searchParams.get("role_name")]
    asked.push(`GetRoleCredentials ${account} ${role}`)
    if (!ssoTokens.has(String(request.headers["x-amz-sso_bearer_token"])))
      return json({ message: "Session token not found or invalid" }, 401)
    if (role === "Nobody") return json({ message: "No access" }, 403)
    const roleCredentials = {
      accessKeyId: "ASIA-SSO",
      secretAccessKey: "sso-secret",
      sessionToken: "sso-token",
      expiration: ends,
    }
    return json({ roleCredentials })
  }
  const oidc = (body: string): Answer => {
    const wish = JSON.parse(body) as Record<string, string>
    asked.push(`CreateToken ${wish["grantType"]} ${wish["refreshToken"]}`)
    if (
      wish["clientId"] !== "client" ||
      wish["clientSecret"] !== "client-secret" ||
      wish["refreshToken"] !== "refresh-1"
    )
      return json({ error: "invalid_grant" }, 400)
    ssoTokens.add("access-2")
    return json({ accessToken: "access-2", expiresIn: 28_800, refreshToken: "refresh-2", tokenType: "Bearer" })
  }
  const metadata = (request: IncomingMessage, path: string): Answer => {
    asked.push(`${request.method} ${path}`)
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
      Expiration: new Date(ends).toISOString(),
    })
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8")
      const url = new URL(request.url ?? "/", "http://127.0.0.1")
      const usual = (): Answer => {
        if (url.pathname === "/") return sts(request, body)
        if (url.pathname === "/federation/credentials") return portal(request, url)
        if (url.pathname === "/token") return oidc(body)
        return metadata(request, url.pathname)
      }
      const answer = refusals.shift() ?? usual()
      response.writeHead(answer.status).end(answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    asked,
    forms,
    variables: {
      AWS_ENDPOINT_URL_STS: url,
      AWS_ENDPOINT_URL_SSO: url,
      AWS_ENDPOINT_URL_SSO_OIDC: url,
      AWS_EC2_METADATA_SERVICE_ENDPOINT: url,
    },
    ssoTokens,
    refuseNext: (answer) => void refusals.push(answer),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function json(body: unknown, status = 200): Answer {
  return { status, body: JSON.stringify(body) }
}

function stsError(message: string): Answer {
  return {
    status: 403,
    body: `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>${message}</Message></Error></ErrorResponse>`,
  }
}

/** The access key whose signature fits what really arrived; undefined without one that fits. */
function signerOf(
  request: IncomingMessage,
  body: string,
  secrets: Readonly<Record<string, string>>,
): string | undefined {
  const given = request.headers.authorization ?? ""
  const [, id = "", region = "", names = ""] =
    /Credential=([^/]+)\/\d{8}\/([^/]+)\/sts\/aws4_request, SignedHeaders=([^,]+)/.exec(given) ?? []
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
  return expected["authorization"] === given ? id : undefined
}
