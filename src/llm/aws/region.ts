import type { ProfilePlace } from "./profile-files.ts"
import { chosenProfile, readProfile } from "./profile-files.ts"

/**
 * The region to sign for: the one inside the address wins, since AWS accepts no other there; then the setting `bedrock.region`,
 * the variables, the profile, and us-east-1.
 */
export async function resolveAwsRegion(
  options: ProfilePlace & { readonly host: string; readonly configured: string },
): Promise<string> {
  const named = [
    regionOfHost(options.host),
    options.configured,
    options.environment.get("AWS_REGION"),
    options.environment.get("AWS_DEFAULT_REGION"),
  ]
    .map((name) => name?.trim() ?? "")
    .find((name) => name !== "")
  if (named !== undefined) return named
  const profile = await readProfile(options, chosenProfile(options.environment).name)
  // A file that cannot be read is reported where its keys are wanted; it names no region here.
  return (profile.ok ? profile.value?.get("region") : undefined) ?? "us-east-1"
}

/** `bedrock-runtime.eu-west-1.amazonaws.com`, its FIPS and China forms, and private endpoints before that name. */
function regionOfHost(host: string): string | undefined {
  return /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-\d+)\.(?:vpce\.)?(?:amazonaws\.com(?:\.cn)?|api\.aws)$/.exec(
    host,
  )?.[1]
}
