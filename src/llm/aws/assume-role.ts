import { fail } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { AwsCredentialOptions, AwsKeys, AwsProfile } from "./identity.ts"
import { SESSION_NAME, callSts } from "./security-token-service.ts"
import { exchangeWebIdentity } from "./web-identity.ts"

/** Assumes the role of a profile with the keys that `findSource` returns. Throws only when the signal aborts. */
export async function keysFromRole(
  profile: AwsProfile,
  findSource: () => Promise<Result<AwsKeys>>,
  options: AwsCredentialOptions,
): Promise<Result<AwsKeys>> {
  const { name, fields } = profile
  const roleArn = fields.get("role_arn") ?? ""
  const sessionName = fields.get("role_session_name")
  const region = fields.get("region")
  const tokenFile = fields.get("web_identity_token_file")
  if (tokenFile !== undefined && !fields.has("source_profile")) {
    const configuredBy = { file: `the AWS profile "${name}"`, role: "its role_arn" }
    return await exchangeWebIdentity(
      { tokenFile, roleArn, sessionName, region: profileRegion(options, region), configuredBy },
      options,
    )
  }
  if (fields.has("mfa_serial")) {
    return fail(
      `the AWS profile "${name}" requires an MFA code (mfa_serial), which Hermes does not support. Export keys with \`aws configure export-credentials --profile ${name} --format env\``,
    )
  }
  const source = await findSource()
  if (!source.ok) return source
  const seconds = fields.get("duration_seconds")
  const externalId = fields.get("external_id")
  const form = {
    Action: "AssumeRole",
    RoleArn: roleArn,
    RoleSessionName: sessionName ?? SESSION_NAME,
    ...(externalId === undefined ? {} : { ExternalId: externalId }),
    ...(seconds === undefined ? {} : { DurationSeconds: seconds }),
  }
  return await callSts(
    {
      form,
      signedBy: source.value,
      region: profileRegion(options, region),
      source: `AWS role ${roleArn}`,
      role: roleArn,
      messages: {
        refused: `the role ${roleArn} of the profile "${name}"`,
        unreachable: `the role of the AWS profile "${name}" cannot be assumed`,
        advice: `Check the trust policy of the role, and the keys used to assume it (${source.value.source})`,
      },
    },
    options,
  )
}

/** Returns the profile's region, unless an environment variable overrides it. */
function profileRegion({ environment }: AwsCredentialOptions, region: string | undefined): string | undefined {
  const variables = [environment.get("AWS_REGION"), environment.get("AWS_DEFAULT_REGION")]
  return variables.some((name) => (name?.trim() ?? "") !== "") ? undefined : region
}
