import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { keysFromRole } from "./assume-role.ts"
import { keysFromEnvironment } from "./aws-environment.ts"
import { keysFromProgram } from "./credential-process.ts"
import { createAwsKeys } from "./identity.ts"
import type { AwsCredentialOptions, AwsKeys, AwsProfile } from "./identity.ts"
import { keysFromContainer, keysFromInstance } from "./metadata.ts"
import { selectedProfile, readProfile } from "./profile-files.ts"
import { keysFromSso } from "./sso.ts"

/**
 * Returns the keys of the selected profile, from the first of these that it configures, like the AWS tools: a role, SSO, static
 * keys, a program. Undefined when no profile is selected and `default` has none. Throws only when the signal aborts.
 */
export async function keysFromSelectedProfile(options: AwsCredentialOptions): Promise<Result<AwsKeys> | undefined> {
  const { name, explicit } = selectedProfile(options.environment)
  const read = readProfile(options, name)
  if (!read.ok) return read
  if (read.value === undefined) {
    return explicit
      ? fail(
          `AWS_PROFILE names the profile "${name}", which is not in the files under ~/.aws. Check the name with \`aws configure list-profiles\``,
        )
      : undefined
  }
  const found = await keysFromProfile({ name, fields: read.value }, [], options)
  if (found !== undefined || !explicit) return found
  return fail(
    `the AWS profile "${name}" has no keys. Export keys with \`aws configure export-credentials --profile ${name} --format env\``,
  )
}

/** `seen` lists the profiles whose `source_profile` led to this one. */
async function keysFromProfile(
  profile: AwsProfile,
  seen: readonly string[],
  options: AwsCredentialOptions,
): Promise<Result<AwsKeys> | undefined> {
  const { name, fields } = profile
  if (fields.has("role_arn") && !(seen.includes(name) && staticKeys(profile) !== undefined)) {
    return await keysFromRole(profile, () => keysForRole(profile, seen, options), options)
  }
  if (SSO_FIELDS.some((field) => fields.has(field))) {
    return await keysFromSso(profile, options)
  }
  const fixedKeys = staticKeys(profile)
  if (fixedKeys !== undefined) return ok(fixedKeys)
  const program = fields.get("credential_process")
  if (program !== undefined) {
    return await keysFromProgram({ name, commandLine: program }, options)
  }
  if (fields.has("login_session")) {
    return fail(
      `the AWS profile "${name}" was created by \`aws login\`, whose keys Hermes cannot renew. Export keys with \`aws configure export-credentials --profile ${name} --format env\``,
    )
  }
  return undefined
}

const SSO_FIELDS = ["sso_session", "sso_account_id", "sso_role_name", "sso_start_url"]

function staticKeys({ name, fields }: AwsProfile): AwsKeys | undefined {
  return createAwsKeys({
    accessKeyId: fields.get("aws_access_key_id"),
    secretAccessKey: fields.get("aws_secret_access_key"),
    sessionToken: fields.get("aws_session_token"),
    source: `AWS profile ${name}`,
  })
}

async function keysForRole(
  { name, fields }: AwsProfile,
  seen: readonly string[],
  options: AwsCredentialOptions,
): Promise<Result<AwsKeys>> {
  const [sourceProfile, credentialSource] = [fields.get("source_profile"), fields.get("credential_source")]
  if (sourceProfile !== undefined && credentialSource !== undefined) {
    return fail(`the AWS profile "${name}" has a source_profile and a credential_source. Keep one of them`)
  }
  if (credentialSource !== undefined) return await keysFromCredentialSource(name, credentialSource, options)
  if (sourceProfile === undefined) {
    return fail(`the AWS profile "${name}" has a role_arn, but no source_profile or credential_source. Add one of them`)
  }
  // A profile may name itself; its own static keys are then the source.
  if (seen.includes(sourceProfile)) {
    return fail(
      `the AWS profiles ${[...seen, name, sourceProfile].join(" → ")} refer to each other in a cycle. Correct source_profile`,
    )
  }
  const read = readProfile(options, sourceProfile)
  if (!read.ok) return read
  if (read.value === undefined) {
    return fail(`the AWS profile "${name}" names the source_profile "${sourceProfile}", which does not exist`)
  }
  const found = await keysFromProfile({ name: sourceProfile, fields: read.value }, [...seen, name], options)
  return found ?? fail(`the AWS profile "${sourceProfile}", the source of "${name}", has no keys`)
}

async function keysFromCredentialSource(
  name: string,
  credentialSource: string,
  options: AwsCredentialOptions,
): Promise<Result<AwsKeys>> {
  const found = await CREDENTIAL_SOURCES[credentialSource.toLowerCase()]?.(options)
  if (found !== undefined) return found
  return fail(
    Object.hasOwn(CREDENTIAL_SOURCES, credentialSource.toLowerCase())
      ? `the AWS profile "${name}" takes its keys from ${credentialSource}, which has none`
      : `the AWS profile "${name}" has the unknown credential_source "${credentialSource}". Use Environment, Ec2InstanceMetadata or EcsContainer`,
  )
}

const CREDENTIAL_SOURCES: Readonly<
  Record<string, (options: AwsCredentialOptions) => Promise<Result<AwsKeys> | undefined> | Result<AwsKeys> | undefined>
> = {
  environment: ({ environment }) => keysFromEnvironment(environment),
  ec2instancemetadata: keysFromInstance,
  ecscontainer: keysFromContainer,
}
