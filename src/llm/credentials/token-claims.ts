import { isRecord, parseJson, stringField } from "../../base/json.ts"

/** Returns the unverified claims of a JSON Web Token. Use them for labels and expiry times, never for access decisions. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> {
  const payload = token.split(".")
  if (payload.length !== 3) return {}
  const claims = parseJson(Buffer.from(payload[1] ?? "", "base64url").toString("utf8"))
  return isRecord(claims) ? claims : {}
}

/** Returns the account the token was issued to, if it contains one. */
export function accountName(token: string): string | undefined {
  const claims = claimsOf(token)
  return ["email", "preferred_username", "upn"]
    .map((name) => stringField(claims, name)?.trim() ?? "")
    .find((name) => name !== "")
}
