import { isRecord } from "../base/json.ts"
import { createRedactor } from "../base/redact.ts"
import { holdsHeaders, isSecretHeader, isSecretKey, maskAddressPasswords, maskSecret } from "../config/secrets.ts"

/**
 * A settings tree that people may see. Values under secret names keep their ends, for the owner to recognise them, or nothing
 * when others will read it; secrets inside other text are redacted.
 */
export function maskedSettings(
  value: unknown,
  options: { readonly key?: string; readonly isHeader?: boolean; readonly secrets: "ends" | "hidden" },
): unknown {
  const { key = "", isHeader = false } = options
  if (Array.isArray(value)) return value.map((item) => maskedSettings(item, options))
  if (isRecord(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        name,
        maskedSettings(inner, { ...options, key: name, isHeader: holdsHeaders(key) }),
      ]),
    )
  }
  if (typeof value !== "string" || value === "") return value
  if (isSecretKey(key) || (isHeader && isSecretHeader(key))) {
    return options.secrets === "ends" ? maskSecret(value) : "***"
  }
  return createRedactor({ enabled: true, secrets: [] }).redact(maskAddressPasswords(value), { force: true })
}
