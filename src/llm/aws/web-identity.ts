import { readFile } from "node:fs/promises"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { AwsCredentialOptions, AwsKeys } from "./identity.ts"
import { resolveAwsRegion } from "./region.ts"

const SESSION_NAME = "hermes-agent"
const VERSION = "2011-06-15"

/**
 * Exchanges the token that a cluster or a build service put into a file for keys of the role it was given for. The answer is keys
 * that end, or a sentence with the fix: the role of the machine is never taken in place of the one that was chosen. Throws
 * only when the signal aborts.
 */
export async function exchangeWebIdentity(
  given: { readonly tokenFile: string; readonly roleArn: string | undefined; readonly sessionName: string | undefined },
  options: AwsCredentialOptions,
): Promise<Result<AwsKeys>> {
  const { tokenFile, roleArn } = given
  if (roleArn === undefined) return fail("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not. Set both")
  const token = await readToken(tokenFile)
  if (!token.ok) return token
  const region = await resolveAwsRegion({ ...options, host: "", configured: "" })
  const suffix = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
  const form = new URLSearchParams({
    Action: "AssumeRoleWithWebIdentity",
    Version: VERSION,
    RoleArn: roleArn,
    RoleSessionName: given.sessionName ?? SESSION_NAME,
    WebIdentityToken: token.value,
  })
  const answer = await ask(`https://sts.${region}.${suffix}/`, form.toString(), options)
  if (!answer.ok) return answer
  return readExchange(answer.value, roleArn) ?? fail(`AWS gave no keys for ${roleArn}. Check the role`)
}

async function readToken(path: string): Promise<Result<string>> {
  try {
    return ok((await readFile(path, "utf8")).trim())
  } catch {
    return fail(`the file ${path} of AWS_WEB_IDENTITY_TOKEN_FILE cannot be read`)
  }
}

async function ask(url: string, body: string, { fetchText, signal }: AwsCredentialOptions): Promise<Result<string>> {
  try {
    const headers = { "content-type": "application/x-www-form-urlencoded" }
    const answer = await fetchText(url, { method: "POST", headers, body, signal })
    if (answer.status === 200) return ok(answer.body)
    const said = element(answer.body, "Message") ?? `status ${answer.status}`
    return fail(`AWS refused the web identity token: ${said}. Check AWS_ROLE_ARN and what the role trusts`)
  } catch (error) {
    if (signal.aborted) throw error
    return fail(`${new URL(url).host} does not answer, so the web identity token cannot be exchanged`)
  }
}

function readExchange(body: string, roleArn: string): Result<AwsKeys> | undefined {
  const accessKeyId = element(body, "AccessKeyId")
  const secretAccessKey = element(body, "SecretAccessKey")
  const sessionToken = element(body, "SessionToken")
  if (accessKeyId === undefined || secretAccessKey === undefined || sessionToken === undefined) return undefined
  const expiresAt = Date.parse(element(body, "Expiration") ?? "")
  return ok({
    kind: "keys",
    accessKeyId,
    secretAccessKey,
    sessionToken,
    ...(Number.isNaN(expiresAt) ? {} : { expiresAt }),
    source: `AWS web identity ${roleArn}`,
  })
}

/** The text of an element of the small, flat documents that STS answers with. */
function element(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]?.trim()
  return text === undefined || text === "" ? undefined : text.replaceAll("&amp;", "&")
}
