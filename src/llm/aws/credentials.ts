import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { environmentText, keysOfEnvironment } from "./aws-variables.ts"
import type { AwsCredentialOptions, AwsCredentials, AwsKeys } from "./identity.ts"
import { fromContainer, fromInstance } from "./metadata.ts"
import { credentialsOfProfile } from "./profile-credentials.ts"
import { exchangeWebIdentity } from "./web-identity.ts"

/**
 * The first that is there, in the order of the AWS tools: bearer token, key pair, profile, container, web identity, instance metadata. A source
 * that was chosen but cannot be used is an answer with the fix; falling through to another identity would surprise. Throws
 * only when the signal aborts.
 */
export async function resolveAwsCredentials(options: AwsCredentialOptions): Promise<Result<AwsCredentials>> {
  const token = environmentText(options.environment, "AWS_BEARER_TOKEN_BEDROCK")
  if (token !== undefined) return ok({ kind: "bearer", token, source: "AWS_BEARER_TOKEN_BEDROCK" })
  return (
    keysOfEnvironment(options.environment) ??
    (await credentialsOfProfile(options)) ??
    (await fromContainer(options)) ??
    (await fromWebIdentity(options)) ??
    (await fromInstance(options)) ??
    fail(NOTHING_FOUND)
  )
}

const NOTHING_FOUND =
  "no AWS credentials were found. Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or choose a profile with AWS_PROFILE"

/** Going on to the instance's own role would use an identity that nobody chose. */
async function fromWebIdentity(options: AwsCredentialOptions): Promise<Result<AwsKeys> | undefined> {
  const { environment } = options
  const tokenFile = environmentText(environment, "AWS_WEB_IDENTITY_TOKEN_FILE")
  if (tokenFile === undefined) return undefined
  const roleArn = environmentText(environment, "AWS_ROLE_ARN")
  if (roleArn === undefined) return fail("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not. Set both")
  const named = { file: "AWS_WEB_IDENTITY_TOKEN_FILE", role: "AWS_ROLE_ARN" }
  const sessionName = environmentText(environment, "AWS_ROLE_SESSION_NAME")
  return await exchangeWebIdentity({ tokenFile, roleArn, sessionName, named }, options)
}
