import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { serviceAddress } from "./aws-variables.ts"
import type { AwsCredentialOptions } from "./identity.ts"

export interface SsoLogin {
  readonly profile: string
  /** What the AWS tools derive the name of the file from. */
  readonly cachedAs: string
  readonly region: string
}

/** A token that ends within this time is renewed, where that is possible. */
const RENEW_BEFORE_MS = 5 * 60_000

/** The token that `aws sso login` left behind, renewed when it is about to end. Throws only when the signal aborts. */
export async function ssoToken(login: SsoLogin, options: AwsCredentialOptions): Promise<Result<string>> {
  const path = join(
    options.userHome,
    ".aws",
    "sso",
    "cache",
    `${createHash("sha1").update(login.cachedAs).digest("hex")}.json`,
  )
  const cached = await readCached(path)
  if (cached === undefined) {
    return fail(
      `nobody is logged in at AWS SSO for the profile "${login.profile}". Log in with \`aws sso login --profile ${login.profile}\``,
    )
  }
  const now = options.clock.now()
  if (cached.endsAt - now > RENEW_BEFORE_MS) return ok(cached.token)
  const renewed = await renew(cached, { path, ...login }, options)
  if (renewed !== undefined) return ok(renewed)
  // Another program may have renewed it meanwhile: a refresh token works once.
  const again = await readCached(path)
  const usable = [again, cached].find((token) => token !== undefined && token.endsAt > now)
  if (usable !== undefined) return ok(usable.token)
  return fail(ssoEnded(login.profile))
}

export function ssoEnded(profile: string): string {
  return `the AWS SSO login of the profile "${profile}" has ended. Log in again with \`aws sso login --profile ${profile}\``
}

interface CachedToken {
  readonly token: string
  readonly endsAt: number
  readonly fields: Readonly<Record<string, unknown>>
}

async function readCached(path: string): Promise<CachedToken | undefined> {
  let text: string
  try {
    text = await readFile(path, "utf8")
  } catch {
    // Absent or unreadable, it is the same to us: the person logs in again.
    return undefined
  }
  const fields = parseJson(text)
  const token = stringField(fields, "accessToken")
  const endsAt = Date.parse((stringField(fields, "expiresAt") ?? "").replace(/UTC$/, "Z"))
  return !isRecord(fields) || token === undefined || Number.isNaN(endsAt) ? undefined : { token, endsAt, fields }
}

/** Undefined when it cannot be renewed; the file then stays as it was. */
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
  let answer: unknown
  try {
    const { status, body: said } = await fetchText(address, { method: "POST", headers, body, signal })
    answer = status === 200 ? parseJson(said) : undefined
  } catch (error) {
    if (signal.aborted) throw error
    return undefined
  }
  const token = stringField(answer, "accessToken")
  const seconds = isRecord(answer) ? Number(answer["expiresIn"]) : Number.NaN
  if (token === undefined || Number.isNaN(seconds)) return undefined
  const kept = {
    ...cached.fields,
    accessToken: token,
    expiresAt: new Date(clock.now() + seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z"),
    refreshToken: stringField(answer, "refreshToken") ?? refreshToken,
  }
  try {
    writeFileAtomic(path, JSON.stringify(kept))
  } catch {
    // The token is good for this session all the same; the next one will ask for another login.
  }
  return token
}
