import { stringField } from "../../base/json.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import { parseTimestamp } from "../failure/reset-time.ts"
import { accountName, claimsOf } from "./token-claims.ts"

/** One entry of a provider's pool. The Python edition shares the stored form; its other fields are kept in `extraFields`. */
export interface PooledCredential {
  readonly id: string
  readonly label: string
  readonly authType: "oauth" | "api_key"
  /** Lower values are used first. */
  readonly priority: number
  /** `manual`, `device_code`, `env:NAME`, `config:path`, … */
  readonly source: string
  readonly accessToken: string
  readonly refreshToken?: string
  readonly state: CredentialState
  readonly requestCount: number
  /** Fingerprint of the secret when the entry was stored; only for external secrets. */
  readonly secretFingerprint?: string
  readonly extraFields: Tree
}

/** The last known state of a credential. All times are epoch seconds. */
export interface CredentialState {
  readonly status: "ok" | "exhausted" | "dead" | null
  readonly at: number | null
  readonly errorCode: number | null
  readonly errorReason: string | null
  readonly errorMessage: string | null
  readonly resetAt: number | null
}

export const UNTRIED: CredentialState = {
  status: null,
  at: null,
  errorCode: null,
  errorReason: null,
  errorMessage: null,
  resetAt: null,
}

/** Parses an entry of `auth.json`; undefined without an id. */
export function parseEntry(tree: Tree): PooledCredential | undefined {
  const id = stringField(tree, "id") ?? ""
  if (id === "") return undefined
  const source = stringField(tree, "source") ?? "manual"
  const refreshToken = stringField(tree, "refresh_token") ?? ""
  const secretFingerprint = stringField(tree, "secret_fingerprint")
  const accessToken = stringField(tree, "access_token") ?? ""
  return {
    id,
    label: stringField(tree, "label") ?? defaultLabel(accessToken, source),
    authType: tree["auth_type"] === "oauth" ? "oauth" : "api_key",
    priority: numberField(tree, "priority") ?? 0,
    source,
    accessToken,
    ...(refreshToken === "" ? {} : { refreshToken }),
    state: {
      status: statusOf(tree["last_status"]),
      at: parseTimestamp(tree["last_status_at"]) ?? null,
      errorCode: numberField(tree, "last_error_code") ?? null,
      errorReason: stringField(tree, "last_error_reason") ?? null,
      errorMessage: stringField(tree, "last_error_message") ?? null,
      resetAt: parseTimestamp(tree["last_error_reset_at"]) ?? null,
    },
    requestCount: numberField(tree, "request_count") ?? 0,
    ...(secretFingerprint === undefined ? {} : { secretFingerprint }),
    extraFields: Object.fromEntries(Object.entries(tree).filter(([key]) => !OWN_FIELDS.has(key))),
  }
}

/** Returns the stored form. An external secret stays in its variable or settings file: only its fingerprint is stored. */
export function entryTree(entry: PooledCredential): Tree {
  const { state } = entry
  const external = isExternalSecret(entry.source)
  return {
    ...entry.extraFields,
    id: entry.id,
    label: entry.label,
    auth_type: entry.authType,
    priority: entry.priority,
    source: entry.source,
    ...(external
      ? { secret_fingerprint: secretFingerprint(entry.accessToken) }
      : {
          access_token: entry.accessToken,
          ...(entry.refreshToken === undefined ? {} : { refresh_token: entry.refreshToken }),
        }),
    last_status: state.status,
    last_status_at: state.at,
    last_error_code: state.errorCode,
    last_error_reason: state.errorReason,
    last_error_message: state.errorMessage,
    last_error_reset_at: state.resetAt,
    request_count: entry.requestCount,
  }
}

export function secretFingerprint(secret: string): string {
  return `sha256:${sha256Hex(secret).slice(0, 16)}`
}

/** True when the secret is in a variable or the settings and is read again at every start. */
export function isExternalSecret(source: string): boolean {
  return source.startsWith("env:") || source.startsWith("config:") || source === "model_config"
}

/** True when the user added it with `hermes auth add`. */
export function isManual(source: string): boolean {
  return source === "manual" || source.startsWith("manual:")
}

export function defaultLabel(accessToken: string, source: string): string {
  return accountName(accessToken) ?? source
}

/** Returns when the access token expires, in epoch seconds, if known. */
export function expiryOf(entry: PooledCredential): number | undefined {
  const { extraFields } = entry
  const claimed = claimsOf(entry.accessToken)["exp"]
  const candidates = [extraFields["expires_at_ms"], extraFields["expires_at"], claimed].map(parseTimestamp)
  return candidates.find((time) => time !== undefined)
}

/** The fields that change with requests; the user set all others. */
export const STATE_FIELDS = [
  "last_status",
  "last_status_at",
  "last_error_code",
  "last_error_reason",
  "last_error_message",
  "last_error_reset_at",
  "request_count",
]

const OWN_FIELDS = new Set([
  "id",
  "label",
  "auth_type",
  "priority",
  "source",
  "access_token",
  "refresh_token",
  ...STATE_FIELDS,
  "secret_fingerprint",
])

function numberField(tree: Tree, key: string): number | undefined {
  const value = tree[key]
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}

function statusOf(value: unknown): CredentialState["status"] {
  return value === "ok" || value === "exhausted" || value === "dead" ? value : null
}
