import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { keysOfRole } from "./assume-role.ts"
import { keysOfEnvironment } from "./aws-variables.ts"
import { keysOfProgram } from "./credential-process.ts"
import { keysFrom } from "./identity.ts"
import type { AwsCredentialOptions, AwsKeys, AwsProfile } from "./identity.ts"
import { fromContainer, fromInstance } from "./metadata.ts"
import { chosenProfile, readProfile } from "./profile-files.ts"
import { keysOfSso } from "./sso.ts"

/**
 * The keys of the chosen profile, however it comes by them: a role, a web identity, SSO, written down, a program; in this order, as the AWS
 * tools have it. Undefined when nobody chose one and `default` has none. Throws only when the signal aborts.
 */
export async function credentialsOfProfile(options: AwsCredentialOptions): Promise<Result<AwsKeys> | undefined> {
  const { name, explicit } = chosenProfile(options.environment)
  const read = await readProfile(options, name)
  if (!read.ok) return read
  if (read.value === undefined) {
    return explicit
      ? fail(
          `AWS_PROFILE names the profile "${name}", which is in neither file under ~/.aws. Check the name with \`aws configure list-profiles\``,
        )
      : undefined
  }
  const found = await keysOfProfile({ name, fields: read.value }, [], options)
  if (found !== undefined || !explicit) return found
  return fail(
    `the AWS profile "${name}" holds no keys. Export keys with \`aws configure export-credentials --profile ${name} --format env\``,
  )
}

/** `seen` are the profiles that led here, one the source of the other. */
async function keysOfProfile(
  profile: AwsProfile,
  seen: readonly string[],
  options: AwsCredentialOptions,
): Promise<Result<AwsKeys> | undefined> {
  const { name, fields } = profile
  if (fields.has("role_arn") && !(seen.includes(name) && writtenKeys(profile) !== undefined)) {
    return await keysOfRole(profile, () => keysOfSource(profile, seen, options), options)
  }
  if (SSO_FIELDS.some((field) => fields.has(field))) {
    return await keysOfSso(profile, options)
  }
  const written = writtenKeys(profile)
  if (written !== undefined) return ok(written)
  const program = fields.get("credential_process")
  if (program !== undefined) {
    return await keysOfProgram({ name, commandLine: program }, options)
  }
  if (fields.has("login_session")) {
    return fail(
      `the AWS profile "${name}" was made by \`aws login\`, whose keys Hermes cannot renew. Export keys with \`aws configure export-credentials --profile ${name} --format env\``,
    )
  }
  return undefined
}

const SSO_FIELDS = ["sso_session", "sso_account_id", "sso_role_name", "sso_start_url"]

function writtenKeys({ name, fields }: AwsProfile): AwsKeys | undefined {
  return keysFrom({
    accessKeyId: fields.get("aws_access_key_id"),
    secretAccessKey: fields.get("aws_secret_access_key"),
    sessionToken: fields.get("aws_session_token"),
    source: `AWS profile ${name}`,
  })
}

async function keysOfSource(
  { name, fields }: AwsProfile,
  seen: readonly string[],
  options: AwsCredentialOptions,
): Promise<Result<AwsKeys>> {
  const [sourceProfile, place] = [fields.get("source_profile"), fields.get("credential_source")]
  if (sourceProfile !== undefined && place !== undefined) {
    return fail(`the AWS profile "${name}" has a source_profile and a credential_source. Keep one of them`)
  }
  if (place !== undefined) return await keysOfPlace(name, place, options)
  if (sourceProfile === undefined) {
    return fail(`the AWS profile "${name}" has a role_arn, but no source_profile or credential_source. Add one of them`)
  }
  // A profile may name itself: then its own written keys are the source.
  if (seen.includes(sourceProfile)) {
    return fail(`the AWS profiles ${[...seen, name, sourceProfile].join(" → ")} go in a circle. Correct source_profile`)
  }
  const read = await readProfile(options, sourceProfile)
  if (!read.ok) return read
  if (read.value === undefined) {
    return fail(`the AWS profile "${name}" names the source_profile "${sourceProfile}", which does not exist`)
  }
  const found = await keysOfProfile({ name: sourceProfile, fields: read.value }, [...seen, name], options)
  return found ?? fail(`the AWS profile "${sourceProfile}", the source of "${name}", holds no keys`)
}

async function keysOfPlace(name: string, place: string, options: AwsCredentialOptions): Promise<Result<AwsKeys>> {
  const found = await PLACES[place.toLowerCase()]?.(options)
  if (found !== undefined) return found
  return fail(
    Object.hasOwn(PLACES, place.toLowerCase())
      ? `the AWS profile "${name}" takes its keys from ${place}, where there are none`
      : `the AWS profile "${name}" has the credential_source "${place}". Known are Environment, Ec2InstanceMetadata and EcsContainer`,
  )
}

const PLACES: Readonly<
  Record<string, (options: AwsCredentialOptions) => Promise<Result<AwsKeys> | undefined> | Result<AwsKeys> | undefined>
> = {
  environment: ({ environment }) => keysOfEnvironment(environment),
  ec2instancemetadata: fromInstance,
  ecscontainer: fromContainer,
}
