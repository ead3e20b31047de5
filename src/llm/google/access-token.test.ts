import { createVerify, generateKeyPairSync } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { parseJson } from "../../base/json.ts"
import { environmentFrom } from "../../config/environment.ts"
import type { FetchText } from "../aws/identity.ts"
import { requestGoogleToken } from "./access-token.ts"

const NOW = Date.UTC(2026, 0, 1)
const GRANTED = { status: 200, body: JSON.stringify({ access_token: "ya29.token", expires_in: 1800 }) }
const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
const PRIVATE_KEY = privateKey.export({ type: "pkcs8", format: "pem" })

/** Requests a token with this credentials file (undefined for none). Records the requests to Google. */
async function request(file: object | undefined, respond: FetchText = () => Promise.resolve(GRANTED)) {
  await using home = await temporaryHome()
  const path = join(home.path, "credentials.json")
  if (file !== undefined) writeFileSync(path, JSON.stringify(file))
  const sent: { readonly url: string; readonly form: Readonly<Record<string, string>> }[] = []
  const result = await requestGoogleToken({
    environment: environmentFrom(file === undefined ? {} : { GOOGLE_APPLICATION_CREDENTIALS: path }),
    userHome: home.path,
    clock: { now: () => NOW },
    signal: new AbortController().signal,
    fetchText: async (url, options) => {
      sent.push({ url, form: Object.fromEntries(new URLSearchParams(options.body)) })
      return await respond(url, options)
    },
  })
  return { result, sent, path }
}

test("a service account signs a request for a token", async () => {
  const { result, sent } = await request({
    type: "service_account",
    client_email: "robot@project.iam.gserviceaccount.com",
    private_key: PRIVATE_KEY,
    private_key_id: "k1",
    token_uri: "https://oauth2.googleapis.com/token",
  })
  expect(result).toEqual({ ok: true, value: { token: "ya29.token", expiresAt: NOW + 1_800_000 } })
  const [{ url, form }] = sent as [(typeof sent)[0]]
  const [header = "", claims = "", signature = ""] = (form["assertion"] ?? "").split(".")
  const decoded = (part: string): unknown => parseJson(Buffer.from(part, "base64url").toString())
  expect([url, form["grant_type"], decoded(header), decoded(claims)]).toEqual([
    "https://oauth2.googleapis.com/token",
    "urn:ietf:params:oauth:grant-type:jwt-bearer",
    { alg: "RS256", typ: "JWT", kid: "k1" },
    {
      iss: "robot@project.iam.gserviceaccount.com",
      scope: "https://www.googleapis.com/auth/cloud-platform",
      aud: "https://oauth2.googleapis.com/token",
      iat: NOW / 1000,
      exp: NOW / 1000 + 3600,
    },
  ])
  expect(createVerify("RSA-SHA256").update(`${header}.${claims}`).verify(publicKey, signature, "base64url")).toBe(true)
})

test("the login of gcloud is refreshed", async () => {
  const login = { type: "authorized_user", client_id: "c", client_secret: "s", refresh_token: "r" }
  const { result, sent } = await request(login)
  expect([result.ok, sent]).toEqual([
    true,
    [
      {
        url: "https://oauth2.googleapis.com/token",
        form: { grant_type: "refresh_token", client_id: "c", client_secret: "s", refresh_token: "r" },
      },
    ],
  ])
})

test("without a file the machine's service account is used, or the message says how to log in", async () => {
  const { result, sent } = await request(undefined)
  expect([result.ok, sent[0]?.url]).toEqual([
    true,
    "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token",
  ])
  const missing = await request(undefined, () => Promise.reject(new Error("ENOTFOUND")))
  expect(missing.result.ok || missing.result.error).toContain("gcloud auth application-default login")
})

test.each<[string, object, RegExp]>([
  ["another type", { type: "external_account" }, /of the type "external_account", which Hermes does not support/],
  ["no credentials", {}, /contains no Google credentials/],
  [
    "a service account without a key",
    { type: "service_account", client_email: "a@b" },
    /lacks client_email or private_key/,
  ],
  [
    "a key that is none",
    { type: "service_account", client_email: "a@b", private_key: "secret-text" },
    /the private_key in .* is not a valid key$/,
  ],
  ["an incomplete login", { type: "authorized_user", client_id: "c", client_secret: "s" }, /lacks refresh_token/],
])("a file with %s", async (_name, file, message) => {
  const { result, sent } = await request(file)
  expect([result.ok ? "" : result.error, sent]).toEqual([expect.stringMatching(message), []])
})

test("a refused login is reported with Google's reason", async () => {
  const body = JSON.stringify({ error: "invalid_grant", error_description: "Token has been expired or revoked." })
  const login = { type: "authorized_user", client_id: "c", client_secret: "s", refresh_token: "r" }
  const { result } = await request(login, () => Promise.resolve({ status: 400, body }))
  expect(result.ok || result.error).toMatch(/Token has been expired or revoked.*application-default login/)
})
