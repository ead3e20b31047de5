import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { serviceAddress } from "./aws-variables.ts"
import { keysFrom } from "./identity.ts"
import type { AwsCredentialOptions, AwsKeys, AwsProfile } from "./identity.ts"
import { readSsoSession } from "./profile-files.ts"
import { ssoEnded, ssoToken } from "./sso-token.ts"

/** The keys of an account's role, for somebody who is logged in with `aws sso login`. Throws only when the signal aborts. */
export async function keysOfSso(profile: AwsProfile, options: AwsCredentialOptions): Promise<Result<AwsKeys>> {
  const { name, fields } = profile
  const session = fields.get("sso_session")
  const shared = session === undefined ? ok(fields) : await readSsoSession(options, session)
  if (!shared.ok) return shared
  if (shared.value === undefined)
    return fail(`the AWS profile "${name}" names the sso-session "${session}", which is not in ~/.aws/config`)
  const wanted = {
    sso_start_url: shared.value.get("sso_start_url"),
    sso_region: shared.value.get("sso_region"),
    sso_account_id: fields.get("sso_account_id"),
    sso_role_name: fields.get("sso_role_name"),
  }
  const missing = Object.entries(wanted).find(([, value]) => value === undefined)?.[0]
  if (missing !== undefined)
    return fail(`the AWS profile "${name}" lacks ${missing}. Complete it with \`aws configure sso --profile ${name}\``)
  const { sso_start_url: startUrl = "", sso_region: region = "" } = wanted
  // The AWS tools name the file after the session, or after the address where there is none.
  const token = await ssoToken({ profile: name, cachedAs: session ?? startUrl, region }, options)
  if (!token.ok) return token
  return await roleKeys(
    {
      profile: name,
      account: wanted.sso_account_id ?? "",
      role: wanted.sso_role_name ?? "",
      address: serviceAddress("sso", region, options.environment),
      token: token.value,
    },
    options,
  )
}

async function roleKeys(
  asked: {
    readonly profile: string
    readonly account: string
    readonly role: string
    readonly address: string
    readonly token: string
  },
  { fetchText, signal }: AwsCredentialOptions,
): Promise<Result<AwsKeys>> {
  const { profile, account, role, address } = asked
  const query = new URLSearchParams({ role_name: role, account_id: account })
  const headers = { "x-amz-sso_bearer_token": asked.token, accept: "application/json" }
  let answer: { readonly status: number; readonly body: string }
  try {
    answer = await fetchText(`${address}/federation/credentials?${query}`, { method: "GET", headers, signal })
  } catch (error) {
    if (signal.aborted) throw error
    return fail(`${new URL(address).host} does not answer, so the AWS SSO profile "${profile}" cannot be used`)
  }
  const body = parseJson(answer.body)
  if (answer.status === 401) return fail(ssoEnded(profile))
  const keys = isRecord(body) ? body["roleCredentials"] : undefined
  const found = keysFrom({
    accessKeyId: stringField(keys, "accessKeyId"),
    secretAccessKey: stringField(keys, "secretAccessKey"),
    sessionToken: stringField(keys, "sessionToken"),
    expiresAt: isRecord(keys) ? Number(keys["expiration"]) : undefined,
    source: `AWS SSO profile ${profile}`,
  })
  if (answer.status === 200 && found !== undefined) return ok(found)
  const said = stringField(body, "message") ?? `status ${answer.status}`
  return fail(
    `AWS SSO gives the profile "${profile}" no keys for the role ${role} of the account ${account}: ${said.replace(/\.$/, "")}. Check sso_role_name and sso_account_id`,
  )
}
