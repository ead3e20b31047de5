import { isAbort } from "../../base/abort.ts"
import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import type { AwsCredentialOptions, AwsCredentials, AwsKeys, FetchText } from "./identity.ts"
import { chosenProfile, readProfile } from "./profile-files.ts"

/**
 * The first that is there, in the order of the AWS tools: bearer token, key pair, profile, container, web identity, instance metadata. A source
 * that was chosen but cannot be used is an answer with the fix; falling through to another identity would surprise. Throws
 * only when the signal aborts.
 */
export async function resolveAwsCredentials(options: AwsCredentialOptions): Promise<Result<AwsCredentials>> {
  return (
    fromEnvironment(options.environment) ??
    (await fromProfile(options)) ??
    (await fromContainer(options)) ??
    (await fromWebIdentity(options)) ??
    (await fromInstance(options)) ??
    fail(NOTHING_FOUND)
  )
}

const NOTHING_FOUND =
  "no AWS credentials were found. Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or choose a profile with AWS_PROFILE"

/** What a step of the chain found; undefined goes on with the next step. */
type Step = Result<AwsCredentials> | undefined

function fromEnvironment(environment: Environment): Step {
  const token = value(environment, "AWS_BEARER_TOKEN_BEDROCK")
  if (token !== undefined) return ok({ kind: "bearer", token, source: "AWS_BEARER_TOKEN_BEDROCK" })
  const accessKeyId = value(environment, "AWS_ACCESS_KEY_ID")
  const secretAccessKey = value(environment, "AWS_SECRET_ACCESS_KEY")
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    if (accessKeyId === undefined && secretAccessKey === undefined) return undefined
    const missing = accessKeyId === undefined ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY"
    return fail(`${missing} is not set, but its other half is. Set both or none`)
  }
  return ok(
    keys({
      accessKeyId,
      secretAccessKey,
      sessionToken: value(environment, "AWS_SESSION_TOKEN"),
      source: "AWS_ACCESS_KEY_ID",
    }),
  )
}

async function fromProfile(options: AwsCredentialOptions): Promise<Step> {
  const { name, explicit } = chosenProfile(options.environment)
  const profile = await readProfile(options, name)
  if (!profile.ok) return profile
  if (profile.value === undefined) {
    return explicit
      ? fail(
          `AWS_PROFILE names the profile "${name}", which is in neither file under ~/.aws. Check the name with \`aws configure list-profiles\``,
        )
      : undefined
  }
  const fields = profile.value
  const accessKeyId = fields.get("aws_access_key_id")
  const secretAccessKey = fields.get("aws_secret_access_key")
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    const source = `AWS profile ${name}`
    return ok(keys({ accessKeyId, secretAccessKey, sessionToken: fields.get("aws_session_token"), source }))
  }
  const foreign = UNSUPPORTED_IN_PROFILE.find((field) => fields.has(field))
  if (foreign === undefined && !explicit) return undefined
  const why =
    foreign === undefined ? "holds no keys" : `gets its keys by ${foreign}, which Hermes does not run by itself`
  return fail(
    `the AWS profile "${name}" ${why}. Export keys with \`aws configure export-credentials --profile ${name} --format env\``,
  )
}

const UNSUPPORTED_IN_PROFILE = [
  "sso_session",
  "sso_start_url",
  "role_arn",
  "credential_process",
  "web_identity_token_file",
  "login_session",
] as const

async function fromContainer(options: AwsCredentialOptions): Promise<Step> {
  const { environment } = options
  const relative = value(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
  const full = value(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI")
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
  const path = value(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
  if (path === undefined) return ok(value(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN"))
  const { readFile } = await import("node:fs/promises")
  try {
    return ok((await readFile(path, "utf8")).trim())
  } catch {
    return fail(`the file ${path} of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read`)
  }
}

/** Going on to the instance's own role would use an identity that nobody chose. */
async function fromWebIdentity(options: AwsCredentialOptions): Promise<Step> {
  const { environment } = options
  const tokenFile = value(environment, "AWS_WEB_IDENTITY_TOKEN_FILE")
  if (tokenFile === undefined) return undefined
  const { exchangeWebIdentity } = await import("./web-identity.ts")
  const [roleArn, sessionName] = [value(environment, "AWS_ROLE_ARN"), value(environment, "AWS_ROLE_SESSION_NAME")]
  return await exchangeWebIdentity({ tokenFile, roleArn, sessionName }, options)
}

const METADATA = "http://169.254.169.254/latest"
const METADATA_CAP_MS = 2000

/** Instance metadata, version 2. Elsewhere nobody answers at that address, so the whole step has one short limit. */
async function fromInstance(options: AwsCredentialOptions): Promise<Step> {
  if (options.environment.truthy("AWS_EC2_METADATA_DISABLED")) return undefined
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(METADATA_CAP_MS)])
  const token = await tryFetch(options, `${METADATA}/api/token`, {
    method: "PUT",
    headers: { "x-aws-ec2-metadata-token-ttl-seconds": "21600" },
    signal,
  })
  if (token === undefined) return undefined
  const headers = { "x-aws-ec2-metadata-token": token.trim() }
  const path = `${METADATA}/meta-data/iam/security-credentials/`
  const roles = await tryFetch(options, path, { method: "GET", headers, signal })
  const role = roles?.split("\n")[0]?.trim() ?? ""
  if (role === "") return undefined
  const answer = await tryFetch(options, path + encodeURIComponent(role), { method: "GET", headers, signal })
  const found = answer === undefined ? undefined : readKeys(answer, `AWS instance role ${role}`)
  return found === undefined ? undefined : ok(found)
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
  const parsed = parseJson(body)
  if (!isRecord(parsed)) return undefined
  const accessKeyId = stringField(parsed, "AccessKeyId")
  const secretAccessKey = stringField(parsed, "SecretAccessKey")
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  const expiresAt = Date.parse(stringField(parsed, "Expiration") ?? "")
  return {
    ...keys({ accessKeyId, secretAccessKey, sessionToken: stringField(parsed, "Token"), source }),
    ...(Number.isNaN(expiresAt) ? {} : { expiresAt }),
  }
}

function keys(found: {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | undefined
  readonly source: string
}): AwsKeys {
  const { sessionToken, ...rest } = found
  return { kind: "keys", ...rest, ...(sessionToken === undefined ? {} : { sessionToken }) }
}

function value(environment: Environment, name: string): string | undefined {
  const text = environment.get(name)?.trim() ?? ""
  return text === "" ? undefined : text
}
