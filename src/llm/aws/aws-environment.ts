import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import { createAwsKeys } from "./identity.ts"
import type { AwsKeys } from "./identity.ts"

/** Returns a trimmed variable; undefined when it is unset or blank. */
export function awsVariable(environment: Environment, name: string): string | undefined {
  const text = environment.get(name)?.trim() ?? ""
  return text === "" ? undefined : text
}

/** Returns the key pair in the environment; undefined when neither half is set. */
export function keysFromEnvironment(environment: Environment): Result<AwsKeys> | undefined {
  const accessKeyId = awsVariable(environment, "AWS_ACCESS_KEY_ID")
  const secretAccessKey = awsVariable(environment, "AWS_SECRET_ACCESS_KEY")
  const sessionToken = awsVariable(environment, "AWS_SESSION_TOKEN")
  const found = createAwsKeys({ accessKeyId, secretAccessKey, sessionToken, source: "AWS_ACCESS_KEY_ID" })
  if (found !== undefined) return ok(found)
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined
  const missing = accessKeyId === undefined ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY"
  return fail(`${missing} is not set, but the other half of the key pair is. Set both or none`)
}

/** Returns the endpoint of a service: the one a variable sets (a private endpoint), else the public one of the region. */
export function serviceAddress(service: keyof typeof SERVICES, region: string, environment: Environment): string {
  const own = environment.truthy("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")
    ? undefined
    : (awsVariable(environment, SERVICES[service].variable) ?? awsVariable(environment, "AWS_ENDPOINT_URL"))
  if (own !== undefined && URL.canParse(own)) return own.replace(/\/+$/, "")
  const suffix = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
  return `https://${SERVICES[service].host}.${region}.${suffix}`
}

const SERVICES = {
  sts: { host: "sts", variable: "AWS_ENDPOINT_URL_STS" },
  sso: { host: "portal.sso", variable: "AWS_ENDPOINT_URL_SSO" },
  "sso-oidc": { host: "oidc", variable: "AWS_ENDPOINT_URL_SSO_OIDC" },
} as const
