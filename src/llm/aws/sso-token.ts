import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { serviceAddress } from "./aws-environment.ts"
import type { AwsCredentialOptions } from "./identity.ts"

export interface SsoLogin {
  readonly profile: string
  /** The AWS tools derive the cache file's name from it. */
  readonly cacheKey: string
  readonly region: string
}

/** A token that expires within this time is renewed if possible. */
const RENEW_BEFORE_MS = 5 * 60_000

/** Returns the cached token of `aws sso login`, renewed when it is about to expire. Throws only when the signal aborts. */
export async function ssoToken(login: SsoLogin, options: AwsCredentialOptions): Promise<Result<string>> {
  const path = join(
    options.userHome,
    ".aws",
    "sso",
    "cache",
    `${createHash("sha1").update(login.cacheKey).digest("hex")}.json`,
  )
  const cached = await readCached(path)
  if (cached === undefined) {
    return fail(
      `not logged in to AWS SSO for the profile "${login.profile}". Log in with \`aws sso login --profile ${login.profile}\``,
    )
  }
  const now = options.clock.now()
  if (cached.expiresAtMs - now > RENEW_BEFORE_MS) return ok(cached.token)
  const renewed = await renew(cached, { path, ...login }, options)
  if (renewed !== undefined) return ok(renewed)
  // A refresh token works once; another program may have renewed the token meanwhile.
  const again = await readCached(path)
  const usable = [again, cached].find((token) => token !== undefined && token.expiresAtMs > now)
  if (usable !== undefined) return ok(usable.token)
  return fail(ssoExpired(login.profile))
}

export function ssoExpired(profile: string): string {
  return `the AWS SSO login of the profile "${profile}" has expired. Log in again with \`aws sso login --profile ${profile}\``
}

interface CachedToken {
  readonly token: string
  readonly expiresAtMs: number
  readonly fields: Readonly<Record<string, unknown>>
}

async function readCached(path: string): Promise<CachedToken | undefined> {
  let text: string
  try {
    text = await readFile(path, "utf8")
  } catch {
    // Whether the file is absent or unreadable, the user has to log in again.
    return undefined
  }
  const fields = parseJson(text)
  const token = stringField(fields, "accessToken")
  const expiresAtMs = Date.parse((stringField(fields, "expiresAt") ?? "").replace(/UTC$/, "Z"))
  return !isRecord(fields) || token === undefined || Number.isNaN(expiresAtMs)
    ? undefined
    : { token, expiresAtMs, fields }
}

/** Renews the token and updates the file. Undefined when it cannot be renewed; the file then stays unchanged. */
async function renew(
  cached: CachedToken,
  { path, region }: SsoLogin & { readonly path: string },
  { environment, clock, fetchText, signal }: AwsCredentialOptions,
): Promise<string | undefined> {
  const [refreshToken, clientId, clientSecret] = ["refreshToken", "clientId", "clientSecret"].map((name) =>
    stringField(cached.fields, name),
  )
  const registeredUntil = Date.parse(stringField(cached.fields, "registrationExpiresAt") ?? "")
  if (refreshToken === undefined || clientId === undefined || clientSecret === undefined) return undefined
  if (registeredUntil <= clock.now()) return undefined
  const body = JSON.stringify({ clientId, clientSecret, grantType: "refresh_token", refreshToken })
  const address = `${serviceAddress("sso-oidc", region, environment)}/token`
  const headers = { "content-type": "application/json", accept: "application/json" }
  let response: unknown
  try {
    const { status, body: text } = await fetchText(address, { method: "POST", headers, body, signal })
    response = status === 200 ? parseJson(text) : undefined
  } catch (error) {
    if (signal.aborted) throw error
    return undefined
  }
  const token = stringField(response, "accessToken")
  const seconds = isRecord(response) ? Number(response["expiresIn"]) : Number.NaN
  if (token === undefined || Number.isNaN(seconds)) return undefined
  const kept = {
    ...cached.fields,
    accessToken: token,
    expiresAt: new Date(clock.now() + seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z"),
    refreshToken: stringField(response, "refreshToken") ?? refreshToken,
  }
  try {
    writeFileAtomic(path, JSON.stringify(kept))
  } catch {
    // The token still works for this session; the next one will require another login.
  }
  return token
}
