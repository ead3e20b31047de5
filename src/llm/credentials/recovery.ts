import type { FailureReason } from "../failure/failure.ts"

/** What of a failure decides about credentials. */
export interface CredentialFailure {
  readonly reason: FailureReason
  readonly status: number | null
  /** The failure is about this credential: another one may work. */
  readonly rotateCredential: boolean
  /** The server's own word for it. */
  readonly errorCode?: string
}

/** What is known while one request is being tried. `size` and `available` are those of the pool. */
export interface RecoveryState {
  /** The provider that was asked. */
  readonly provider: string
  readonly baseUrl: string
  readonly pool: PoolView | undefined
  readonly credential: {
    readonly id: string
    /** It can be renewed: a login with a refresh token. */
    readonly refreshable: boolean
    /** It was already marked, for example by another session. */
    readonly exhausted: boolean
  }
  /** Credentials that were rate limited before during this request. */
  readonly rateLimited: ReadonlySet<string>
  /** Credentials that were renewed, or could not be, during this request. */
  readonly refreshed: ReadonlySet<string>
}

export interface PoolView {
  readonly provider: string
  size(): number
  available(): number
}

export type RecoveryStep =
  /** Credentials cannot help; the caller goes on to its retries and fallbacks. */
  | { readonly kind: "none" }
  /** Wait, then the same credential again; add it to `rateLimited`. */
  | { readonly kind: "retry-same" }
  /** Renew it and try again; when that fails, add it to `refreshed` and ask again. */
  | { readonly kind: "refresh" }
  /** Mark it exhausted and take the next; without a next one it is as `none`. */
  | { readonly kind: "rotate" }

export function recover(failure: CredentialFailure, state: RecoveryState): RecoveryStep {
  const { pool, credential } = state
  // After a switch of the provider a pool may still be the old one's; its keys must not go to the new address.
  if (pool === undefined || pool.provider !== state.provider || !failure.rotateCredential) return { kind: "none" }
  switch (failure.reason) {
    case "billing":
      return mayHavePaid(failure, state) ? { kind: "refresh" } : { kind: "rotate" }
    case "rate_limit":
      if (failure.errorCode === "usage_limit_reached" || credential.exhausted) return { kind: "rotate" }
      if (!mayRecoverFromRateLimit(pool, state.baseUrl)) return { kind: "none" }
      return state.rateLimited.has(credential.id) ? { kind: "rotate" } : { kind: "retry-same" }
    case "auth":
      return credential.refreshable && !state.refreshed.has(credential.id) ? { kind: "refresh" } : { kind: "rotate" }
    // Nothing else is the credential's fault.
    default:
      return { kind: "none" }
  }
}

/** A token says what was paid when it was issued; whoever has paid since needs a new one. */
function mayHavePaid({ status }: CredentialFailure, { provider, credential, refreshed }: RecoveryState): boolean {
  const told = status === 402 || status === 404
  return provider === "nous" && told && credential.refreshable && !refreshed.has(credential.id)
}

/** Whether another key can help against a rate limit; if not, a fallback provider is better than waiting. */
export function mayRecoverFromRateLimit(pool: PoolView | undefined, baseUrl: string): boolean {
  if (pool === undefined || pool.available() === 0) return false
  // The limit there is the account's, whichever key is used.
  if (pool.provider === "google-gemini-cli" || baseUrl.startsWith("cloudcode-pa://")) return false
  return pool.size() > 1
}
