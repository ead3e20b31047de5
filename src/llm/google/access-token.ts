import { createSign } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Clock } from "../../base/clock.ts"
import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError, isNotFound } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"
import type { FetchText } from "../aws/identity.ts"

export interface GoogleTokenOptions {
  readonly environment: Environment
  readonly userHome: string
  readonly clock: Pick<Clock, "now">
  readonly signal: AbortSignal
  /** Throws when there is no response or the signal aborts. */
  readonly fetchText: FetchText
}

export interface GoogleToken {
  readonly token: string
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

/**
 * Requests an access token with the Application Default Credentials: the file in GOOGLE_APPLICATION_CREDENTIALS, else the login of
 * `gcloud auth application-default login`, else the service account of a Google Cloud machine. Fails with a message that names the fix.
 */
export async function requestGoogleToken(options: GoogleTokenOptions): Promise<Result<GoogleToken>> {
  const named = options.environment.get("GOOGLE_APPLICATION_CREDENTIALS")?.trim() ?? ""
  const path = named === "" ? defaultFile(options) : named
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (cause) {
    if (named === "" && isNotFound(cause)) return await fromMetadataServer(options)
    return fail(`the Google credentials in ${path} cannot be read: ${explainSystemError(cause)}`)
  }
  const file = parseJson(text)
  const type = stringField(file, "type")
  if (!isRecord(file) || type === undefined) return fail(`${path} contains no Google credentials`)
  switch (type) {
    case "service_account":
      return await fromServiceAccount(file, path, options)
    case "authorized_user":
      return await fromUserLogin(file, path, options)
    default:
      return fail(
        `${path} contains Google credentials of the type "${type}", which Hermes does not support; use a service account key or \`gcloud auth application-default login\``,
      )
  }
}

function defaultFile({ environment, userHome }: GoogleTokenOptions): string {
  const configured = environment.get("CLOUDSDK_CONFIG")?.trim() ?? ""
  return join(configured === "" ? join(userHome, ".config", "gcloud") : configured, FILE_NAME)
}

const FILE_NAME = "application_default_credentials.json"
const TOKEN_URL = "https://oauth2.googleapis.com/token"
const SCOPE = "https://www.googleapis.com/auth/cloud-platform"
const LIFETIME_SECONDS = 3600

type Fields = Readonly<Record<string, unknown>>

/** Exchanges a token that is signed with the key of the service account (RFC 7523). */
async function fromServiceAccount(
  file: Fields,
  path: string,
  options: GoogleTokenOptions,
): Promise<Result<GoogleToken>> {
  const [issuer, key] = [stringField(file, "client_email") ?? "", stringField(file, "private_key") ?? ""]
  if (issuer === "" || key === "") return fail(`${path} lacks client_email or private_key`)
  const url = stringField(file, "token_uri") ?? TOKEN_URL
  const issuedAt = Math.floor(options.clock.now() / 1000)
  const header = { alg: "RS256", typ: "JWT", ...keyId(file) }
  const claims = { iss: issuer, scope: SCOPE, aud: url, iat: issuedAt, exp: issuedAt + LIFETIME_SECONDS }
  const content = `${encoded(header)}.${encoded(claims)}`
  let signature: string
  try {
    signature = createSign("RSA-SHA256").update(content).sign(key, "base64url")
  } catch {
    return fail(`the private_key in ${path} is not a valid key`)
  }
  const assertion = `${content}.${signature}`
  return await exchange(url, { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion }, options)
}

function keyId(file: Fields): { readonly kid?: string } {
  const kid = stringField(file, "private_key_id") ?? ""
  return kid === "" ? {} : { kid }
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url")
}

async function fromUserLogin(file: Fields, path: string, options: GoogleTokenOptions): Promise<Result<GoogleToken>> {
  const fields = ["client_id", "client_secret", "refresh_token"].map((name) => [name, stringField(file, name) ?? ""])
  const missing = fields.find(([, value]) => value === "")?.[0]
  if (missing !== undefined) return fail(`${path} lacks ${missing}`)
  const url = stringField(file, "token_uri") ?? TOKEN_URL
  return await exchange(url, { grant_type: "refresh_token", ...Object.fromEntries(fields) }, options)
}

async function exchange(
  url: string,
  form: Readonly<Record<string, string>>,
  { fetchText, signal, clock }: GoogleTokenOptions,
): Promise<Result<GoogleToken>> {
  try {
    const response = await fetchText(url, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body: new URLSearchParams(form).toString(),
      signal,
    })
    return tokenIn(response, clock)
  } catch (cause) {
    if (signal.aborted) throw cause
    return fail(`the token server of Google does not respond: ${explainSystemError(cause)}`)
  }
}

/** The metadata server exists only on machines of Google Cloud, so no response means that there are no credentials. */
async function fromMetadataServer({
  environment,
  fetchText,
  signal,
  clock,
}: GoogleTokenOptions): Promise<Result<GoogleToken>> {
  const host = environment.get("GCE_METADATA_HOST")?.trim() || "metadata.google.internal"
  try {
    const response = await fetchText(`http://${host}/computeMetadata/v1/instance/service-accounts/default/token`, {
      method: "GET",
      headers: { "metadata-flavor": "Google" },
      signal: AbortSignal.any([signal, AbortSignal.timeout(METADATA_TIMEOUT_MS)]),
    })
    return tokenIn(response, clock)
  } catch (cause) {
    if (signal.aborted) throw cause
    return fail(
      "there are no Google credentials; run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account",
    )
  }
}

const METADATA_TIMEOUT_MS = 3000

function tokenIn(
  { status, body }: { readonly status: number; readonly body: string },
  clock: Pick<Clock, "now">,
): Result<GoogleToken> {
  const json = parseJson(body)
  const token = stringField(json, "access_token") ?? ""
  if (status !== 200 || token === "") {
    const reason = stringField(json, "error_description") ?? stringField(json, "error") ?? `HTTP ${status}`
    return fail(
      `Google refused the credentials: ${reason}; log in again with \`gcloud auth application-default login\`, or create a new service account key`,
    )
  }
  const seconds = isRecord(json) && typeof json["expires_in"] === "number" ? json["expires_in"] : LIFETIME_SECONDS
  return ok({ token, expiresAt: clock.now() + seconds * 1000 })
}
