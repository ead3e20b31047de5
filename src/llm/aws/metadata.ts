import { readFile } from "node:fs/promises"

import { isAbort } from "../../base/abort.ts"
import { parseJson, stringField } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import { environmentText } from "./aws-variables.ts"
import { keysFrom } from "./identity.ts"
import type { AwsCredentialOptions, AwsKeys, FetchText } from "./identity.ts"

/** The role of an ECS task or an EKS pod; undefined where no variable names its address. */
export async function fromContainer(options: AwsCredentialOptions): Promise<Result<AwsKeys> | undefined> {
  const { environment } = options
  const relative = environmentText(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
  const full = environmentText(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI")
  const address = relative === undefined ? full : `http://169.254.170.2${relative}`
  if (address === undefined) return undefined
  const url = URL.parse(address)
  if (url === null || !mayHoldCredentials(url)) {
    return fail(
      "AWS_CONTAINER_CREDENTIALS_FULL_URI must be an https address or one of this machine; keys are asked of no other",
    )
  }
  const token = await containerToken(environment)
  if (!token.ok) return token
  const headers: Record<string, string> = token.value === undefined ? {} : { authorization: token.value }
  const answer = await tryFetch(options, url.href, { method: "GET", headers, signal: options.signal })
  const found = answer === undefined ? undefined : readKeys(answer, "AWS container credentials")
  return found === undefined
    ? fail(`the container credentials at ${url.origin} could not be read. Check the role of the task or pod`)
    : ok(found)
}

/** Plain http only to the link-local addresses of ECS and EKS and to this machine, as the AWS tools have it. */
function mayHoldCredentials(url: URL): boolean {
  if (url.protocol === "https:") return true
  return (
    url.protocol === "http:" &&
    (["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "localhost", "[::1]"].includes(url.hostname) ||
      /^127\.\d+\.\d+\.\d+$/.test(url.hostname))
  )
}

/** The file wins: EKS renews the token in it. */
async function containerToken(environment: Environment): Promise<Result<string | undefined>> {
  const path = environmentText(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
  if (path === undefined) return ok(environmentText(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN"))
  try {
    return ok((await readFile(path, "utf8")).trim())
  } catch {
    return fail(`the file ${path} of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read`)
  }
}

const METADATA_CAP_MS = 2000

/** Instance metadata, version 2. Elsewhere nobody answers at that address, so the whole step has one short limit. */
export async function fromInstance(options: AwsCredentialOptions): Promise<Result<AwsKeys> | undefined> {
  if (options.environment.truthy("AWS_EC2_METADATA_DISABLED")) return undefined
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(METADATA_CAP_MS)])
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
  const answer = await tryFetch(options, path + encodeURIComponent(role), { method: "GET", headers, signal })
  const found = answer === undefined ? undefined : readKeys(answer, `AWS instance role ${role}`)
  return found === undefined ? undefined : ok(found)
}

function metadataAddress(environment: Environment): string {
  const own = environmentText(environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT")
  if (own !== undefined && URL.canParse(own)) return own.replace(/\/+$/, "")
  const mode = environmentText(environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE")
  return mode?.toLowerCase() === "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254"
}

/** The body of a 200; undefined for every other answer and for none. */
async function tryFetch(
  options: AwsCredentialOptions,
  url: string,
  request: Parameters<FetchText>[1],
): Promise<string | undefined> {
  try {
    const answer = await options.fetchText(url, request)
    return answer.status === 200 ? answer.body : undefined
  } catch (error) {
    if (options.signal.aborted && isAbort(error)) throw error
    return undefined
  }
}

/** Containers and instances answer in the same form. */
function readKeys(body: string, source: string): AwsKeys | undefined {
  const answer = parseJson(body)
  return keysFrom({
    accessKeyId: stringField(answer, "AccessKeyId"),
    secretAccessKey: stringField(answer, "SecretAccessKey"),
    sessionToken: stringField(answer, "Token"),
    expiresAt: Date.parse(stringField(answer, "Expiration") ?? ""),
    source,
  })
}
