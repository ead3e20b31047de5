import { isRecord } from "../../base/json.ts"
import { createRedactor } from "../../base/redact.ts"
import { holdsHeaders, isSecretHeader, isSecretKey, maskAddressPasswords, maskSecret } from "../../config/secrets.ts"

/**
 * Masks the secrets in a settings tree. With `ends`, values under secret names keep their first and last characters, so that
 * their owner recognises them; `hidden` is for text that others will read. Secrets inside other text are redacted.
 */
export function maskSettings(
  value: unknown,
  options: { readonly key?: string; readonly isHeader?: boolean; readonly secrets: "ends" | "hidden" },
): unknown {
  const { key = "", isHeader = false } = options
  if (Array.isArray(value)) return value.map((item) => maskSettings(item, options))
  if (isRecord(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        name,
        maskSettings(inner, { ...options, key: name, isHeader: holdsHeaders(key) }),
      ]),
    )
  }
  if (typeof value !== "string" || value === "") return value
  if (isSecretKey(key) || (isHeader && isSecretHeader(key))) {
    return options.secrets === "ends" ? maskSecret(value) : "***"
  }
  return createRedactor({ enabled: true, secrets: [] }).redact(maskAddressPasswords(value), { force: true })
}
