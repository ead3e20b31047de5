import { readFile } from "node:fs/promises"

import { isAbort } from "../../base/abort.ts"
import { parseJson, stringField } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import { awsVariable } from "./aws-environment.ts"
import { createAwsKeys } from "./identity.ts"
import type { AwsCredentialOptions, AwsKeys, FetchText } from "./identity.ts"

/** Requests the keys of an ECS task or EKS pod role; undefined when no variable sets the address. */
export async function keysFromContainer(options: AwsCredentialOptions): Promise<Result<AwsKeys> | undefined> {
  const { environment } = options
  const relative = awsVariable(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
  const full = awsVariable(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI")
  const address = relative === undefined ? full : `http://169.254.170.2${relative}`
  if (address === undefined) return undefined
  const url = URL.parse(address)
  if (url === null || !mayHoldCredentials(url)) {
    return fail(
      "AWS_CONTAINER_CREDENTIALS_FULL_URI must be an https address or one of this machine; keys are not requested from other addresses",
    )
  }
  const token = await containerToken(environment)
  if (!token.ok) return token
  const headers: Record<string, string> = token.value === undefined ? {} : { authorization: token.value }
  const response = await tryFetch(options, url.href, { method: "GET", headers, signal: options.signal })
  const found = response === undefined ? undefined : readKeys(response, "AWS container credentials")
  return found === undefined
    ? fail(`the container credentials at ${url.origin} could not be read. Check the role of the task or pod`)
    : ok(found)
}

/** Allows plain HTTP only to the link-local addresses of ECS and EKS and to this machine, like the AWS tools. */
function mayHoldCredentials(url: URL): boolean {
  if (url.protocol === "https:") return true
  return (
    url.protocol === "http:" &&
    (["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "localhost", "[::1]"].includes(url.hostname) ||
      /^127\.\d+\.\d+\.\d+$/.test(url.hostname))
  )
}

/** The file has priority, because EKS renews the token in it. */
async function containerToken(environment: Environment): Promise<Result<string | undefined>> {
  const path = awsVariable(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
  if (path === undefined) return ok(awsVariable(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN"))
  try {
    return ok((await readFile(path, "utf8")).trim())
  } catch {
    return fail(`the file ${path} of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read`)
  }
}

const METADATA_TIMEOUT_MS = 2000

/** Requests keys from the instance metadata service (IMDSv2). The timeout is short, because outside EC2 nothing responds there. */
export async function keysFromInstance(options: AwsCredentialOptions): Promise<Result<AwsKeys> | undefined> {
  if (options.environment.truthy("AWS_EC2_METADATA_DISABLED")) return undefined
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(METADATA_TIMEOUT_MS)])
  const base = metadataAddress(options.environment)
  const token = await tryFetch(options, `${base}/latest/api/token`, {
    method: "PUT",
    headers: { "x-aws-ec2-metadata-token-ttl-seconds": "21600" },
    signal,
  })
  if (token === undefined) return undefined
  const headers = { "x-aws-ec2-metadata-token": token.trim() }
  const path = `${base}/latest/meta-data/iam/security-credentials/`
  const roles = await tryFetch(options, path, { method: "GET", headers, signal })
  const role = roles?.split("\n")[0]?.trim() ?? ""
  if (role === "") return undefined
  const response = await tryFetch(options, path + encodeURIComponent(role), { method: "GET", headers, signal })
  const found = response === undefined ? undefined : readKeys(response, `AWS instance role ${role}`)
  return found === undefined ? undefined : ok(found)
}

function metadataAddress(environment: Environment): string {
  const own = awsVariable(environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT")
  if (own !== undefined && URL.canParse(own)) return own.replace(/\/+$/, "")
  const mode = awsVariable(environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE")
  return mode?.toLowerCase() === "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254"
}

/** Returns the body of a 200 response; undefined for any other response and for none. */
async function tryFetch(
  options: AwsCredentialOptions,
  url: string,
  request: Parameters<FetchText>[1],
): Promise<string | undefined> {
  try {
    const response = await options.fetchText(url, request)
    return response.status === 200 ? response.body : undefined
  } catch (error) {
    if (options.signal.aborted && isAbort(error)) throw error
    return undefined
  }
}

/** Container and instance metadata have the same format. */
function readKeys(body: string, source: string): AwsKeys | undefined {
  const response = parseJson(body)
  return createAwsKeys({
    accessKeyId: stringField(response, "AccessKeyId"),
    secretAccessKey: stringField(response, "SecretAccessKey"),
    sessionToken: stringField(response, "Token"),
    expiresAt: Date.parse(stringField(response, "Expiration") ?? ""),
    source,
  })
}
