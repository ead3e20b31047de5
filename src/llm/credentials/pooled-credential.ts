import { stringField } from "../../base/json.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import { parseTimestamp } from "../failure/reset-time.ts"
import { accountName, claimsOf } from "./token-claims.ts"

/** One entry of a provider's pool. The stored form is shared with the P-edition; what it has beyond this is in `rest`. */
export interface PooledCredential {
  readonly id: string
  readonly label: string
  readonly authType: "oauth" | "api_key"
  /** Lower is used first. */
  readonly priority: number
  /** `manual`, `device_code`, `env:NAME`, `config:path`, … */
  readonly source: string
  readonly accessToken: string
  readonly refreshToken?: string
  readonly state: CredentialState
  readonly requestCount: number
  /** Of the secret as it was when the entry was stored; only for borrowed secrets. */
  readonly secretFingerprint?: string
  readonly rest: Tree
}

/** What happened to it last. All times are epoch seconds. */
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

/** An entry as it is in `auth.json`; undefined without an id. */
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
    rest: Object.fromEntries(Object.entries(tree).filter(([key]) => !OWN_FIELDS.has(key))),
  }
}

/** The stored form. A borrowed secret belongs to its owner (a variable, a settings file): only its fingerprint is written. */
export function entryTree(entry: PooledCredential): Tree {
  const { state } = entry
  const borrowed = isBorrowed(entry.source)
  return {
    ...entry.rest,
    id: entry.id,
    label: entry.label,
    auth_type: entry.authType,
    priority: entry.priority,
    source: entry.source,
    ...(borrowed
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

/** The secret lives elsewhere and is read again at every start. */
export function isBorrowed(source: string): boolean {
  return source.startsWith("env:") || source.startsWith("config:") || source === "model_config"
}

/** A person put it in by hand, so nothing else will renew it. */
export function isManual(source: string): boolean {
  return source === "manual" || source.startsWith("manual:")
}

export function defaultLabel(accessToken: string, source: string): string {
  return accountName(accessToken) ?? source
}

/** When the access token ends, in epoch seconds, if anything says so. */
export function expiryOf(entry: PooledCredential): number | undefined {
  const { rest } = entry
  const claimed = claimsOf(entry.accessToken)["exp"]
  const candidates = [rest["expires_at_ms"], rest["expires_at"], claimed].map(parseTimestamp)
  return candidates.find((time) => time !== undefined)
}

/** What requests have done to a credential; the person put in the rest. */
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
