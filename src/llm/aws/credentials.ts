import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { awsVariable, keysFromEnvironment } from "./aws-environment.ts"
import type { AwsCredentialOptions, AwsCredentials, AwsKeys } from "./identity.ts"
import { keysFromContainer, keysFromInstance } from "./metadata.ts"
import { keysFromSelectedProfile } from "./profile-credentials.ts"
import { exchangeWebIdentity } from "./web-identity.ts"

/**
 * Returns the first credentials found, in the order of the AWS tools: bearer token, key pair, profile, container, web identity,
 * instance metadata. A source that is configured but unusable is a failure with the fix; falling through would use an unexpected
 * identity. Throws only when the signal aborts.
 */
export async function resolveAwsCredentials(options: AwsCredentialOptions): Promise<Result<AwsCredentials>> {
  const token = awsVariable(options.environment, "AWS_BEARER_TOKEN_BEDROCK")
  if (token !== undefined) return ok({ kind: "bearer", token, source: "AWS_BEARER_TOKEN_BEDROCK" })
  return (
    keysFromEnvironment(options.environment) ??
    (await keysFromSelectedProfile(options)) ??
    (await keysFromContainer(options)) ??
    (await keysFromWebIdentity(options)) ??
    (await keysFromInstance(options)) ??
    fail(NOTHING_FOUND)
  )
}

const NOTHING_FOUND =
  "no AWS credentials were found. Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or choose a profile with AWS_PROFILE"

/** Fails when only half of it is configured: the instance role would be an identity the user did not choose. */
async function keysFromWebIdentity(options: AwsCredentialOptions): Promise<Result<AwsKeys> | undefined> {
  const { environment } = options
  const tokenFile = awsVariable(environment, "AWS_WEB_IDENTITY_TOKEN_FILE")
  if (tokenFile === undefined) return undefined
  const roleArn = awsVariable(environment, "AWS_ROLE_ARN")
  if (roleArn === undefined) return fail("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not. Set both")
  const configuredBy = { file: "AWS_WEB_IDENTITY_TOKEN_FILE", role: "AWS_ROLE_ARN" }
  const sessionName = awsVariable(environment, "AWS_ROLE_SESSION_NAME")
  return await exchangeWebIdentity({ tokenFile, roleArn, sessionName, configuredBy }, options)
}
