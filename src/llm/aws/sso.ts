import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { serviceAddress } from "./aws-environment.ts"
import { createAwsKeys } from "./identity.ts"
import type { AwsCredentialOptions, AwsKeys, AwsProfile } from "./identity.ts"
import { readSsoSession } from "./profile-files.ts"
import { ssoExpired, ssoToken } from "./sso-token.ts"

/** Requests the keys of an account's role with the token of `aws sso login`. Throws only when the signal aborts. */
export async function keysFromSso(profile: AwsProfile, options: AwsCredentialOptions): Promise<Result<AwsKeys>> {
  const { name, fields } = profile
  const session = fields.get("sso_session")
  const shared = session === undefined ? ok(fields) : readSsoSession(options, session)
  if (!shared.ok) return shared
  if (shared.value === undefined)
    return fail(`the AWS profile "${name}" names the sso-session "${session}", which is not in ~/.aws/config`)
  const required = {
    sso_start_url: shared.value.get("sso_start_url"),
    sso_region: shared.value.get("sso_region"),
    sso_account_id: fields.get("sso_account_id"),
    sso_role_name: fields.get("sso_role_name"),
  }
  const missing = Object.entries(required).find(([, value]) => value === undefined)?.[0]
  if (missing !== undefined)
    return fail(`the AWS profile "${name}" lacks ${missing}. Complete it with \`aws configure sso --profile ${name}\``)
  const { sso_start_url: startUrl = "", sso_region: region = "" } = required
  // The AWS tools name the cache file after the session, or after the start URL when there is none.
  const token = await ssoToken({ profile: name, cacheKey: session ?? startUrl, region }, options)
  if (!token.ok) return token
  return await requestRoleKeys(
    {
      profile: name,
      account: required.sso_account_id ?? "",
      role: required.sso_role_name ?? "",
      address: serviceAddress("sso", region, options.environment),
      token: token.value,
    },
    options,
  )
}

async function requestRoleKeys(
  request: {
    readonly profile: string
    readonly account: string
    readonly role: string
    readonly address: string
    readonly token: string
  },
  { fetchText, signal }: AwsCredentialOptions,
): Promise<Result<AwsKeys>> {
  const { profile, account, role, address } = request
  const query = new URLSearchParams({ role_name: role, account_id: account })
  const headers = { "x-amz-sso_bearer_token": request.token, accept: "application/json" }
  let response: { readonly status: number; readonly body: string }
  try {
    response = await fetchText(`${address}/federation/credentials?${query}`, { method: "GET", headers, signal })
  } catch (error) {
    if (signal.aborted) throw error
    return fail(`${new URL(address).host} does not respond, so the AWS SSO profile "${profile}" cannot be used`)
  }
  const body = parseJson(response.body)
  if (response.status === 401) return fail(ssoExpired(profile))
  const keys = isRecord(body) ? body["roleCredentials"] : undefined
  const found = createAwsKeys({
    accessKeyId: stringField(keys, "accessKeyId"),
    secretAccessKey: stringField(keys, "secretAccessKey"),
    sessionToken: stringField(keys, "sessionToken"),
    expiresAt: isRecord(keys) ? Number(keys["expiration"]) : undefined,
    source: `AWS SSO profile ${profile}`,
  })
  if (response.status === 200 && found !== undefined) return ok(found)
  const message = stringField(body, "message") ?? `status ${response.status}`
  return fail(
    `AWS SSO returned no keys of the profile "${profile}" for the role ${role} of the account ${account}: ${message.replace(/\.$/, "")}. Check sso_role_name and sso_account_id`,
  )
}
