import type { AwsProfileContext } from "./profile-files.ts"
import { selectedProfile, readProfile } from "./profile-files.ts"

/**
 * Returns the region to sign for: the one in the host name, since AWS accepts no other there; then the setting `bedrock.region`,
 * the environment, the profile, and us-east-1.
 */
export function resolveAwsRegion(
  options: AwsProfileContext & { readonly host: string; readonly configured: string },
): string {
  const named = [
    regionOfHost(options.host),
    options.configured,
    options.environment.get("AWS_REGION"),
    options.environment.get("AWS_DEFAULT_REGION"),
  ]
    .map((name) => name?.trim() ?? "")
    .find((name) => name !== "")
  if (named !== undefined) return named
  const profile = readProfile(options, selectedProfile(options.environment).name)
  // An unreadable file is reported when its keys are needed.
  return (profile.ok ? profile.value?.get("region") : undefined) ?? "us-east-1"
}

/** `bedrock-runtime.eu-west-1.amazonaws.com`, its FIPS and China forms, and private endpoints. */
function regionOfHost(host: string): string | undefined {
  return /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-\d+)\.(?:vpce\.)?(?:amazonaws\.com(?:\.cn)?|api\.aws)$/.exec(
    host,
  )?.[1]
}
