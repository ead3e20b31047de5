import { isRecord, parseJson, stringField } from "../../base/json.ts"

/** What a JSON Web Token says about itself, unverified: good for a label or a time to renew, never for a decision. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> {
  const payload = token.split(".")
  if (payload.length !== 3) return {}
  const claims = parseJson(Buffer.from(payload[1] ?? "", "base64url").toString("utf8"))
  return isRecord(claims) ? claims : {}
}

/** The person the token was issued to, where it says so. */
export function accountName(token: string): string | undefined {
  const claims = claimsOf(token)
  return ["email", "preferred_username", "upn"]
    .map((name) => stringField(claims, name)?.trim() ?? "")
    .find((name) => name !== "")
}
