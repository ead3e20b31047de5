import { fail } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { AwsCredentialOptions, AwsKeys, AwsProfile } from "./identity.ts"
import { SESSION_NAME, askSts } from "./security-token-service.ts"
import { exchangeWebIdentity } from "./web-identity.ts"

/** The keys of the role that a profile names, asked for with the keys that `findSource` gives. Throws only when the signal aborts. */
export async function keysOfRole(
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
    const named = { file: `the AWS profile "${name}"`, role: "its role_arn" }
    return await exchangeWebIdentity(
      { tokenFile, roleArn, sessionName, region: ownRegion(options, region), named },
      options,
    )
  }
  if (fields.has("mfa_serial")) {
    return fail(
      `the AWS profile "${name}" wants the code of a second factor (mfa_serial), which Hermes does not ask for. Export keys with \`aws configure export-credentials --profile ${name} --format env\``,
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
  return await askSts(
    {
      form,
      signedBy: source.value,
      region: ownRegion(options, region),
      source: `AWS role ${roleArn}`,
      role: roleArn,
      words: {
        refused: `the role ${roleArn} of the profile "${name}"`,
        undone: `the role of the AWS profile "${name}" cannot be taken on`,
        advice: `Check what the role trusts, and the keys it is asked for with (${source.value.source})`,
      },
    },
    options,
  )
}

/** The variables name the region for everything; a profile for itself. */
function ownRegion({ environment }: AwsCredentialOptions, region: string | undefined): string | undefined {
  const told = [environment.get("AWS_REGION"), environment.get("AWS_DEFAULT_REGION")]
  return told.some((name) => (name?.trim() ?? "") !== "") ? undefined : region
}
