import type { FailureReason } from "../failure/failure.ts"

/** The parts of a failure that decide how to recover. */
export interface CredentialFailure {
  readonly reason: FailureReason
  readonly status: number | null
  /** The failure is about this credential: another one may work. */
  readonly rotateCredential: boolean
  /** The server's own error code. */
  readonly errorCode?: string
}

/** The state of the current request. */
export interface RecoveryState {
  /** The provider of the request. */
  readonly provider: string
  readonly baseUrl: string
  readonly pool: PoolView | undefined
  readonly credential: {
    readonly id: string
    /** It is a login with a refresh token. */
    readonly refreshable: boolean
    /** It is already marked exhausted, for example by another session. */
    readonly exhausted: boolean
  }
  /** Credentials that were already rate-limited during this request. */
  readonly rateLimited: ReadonlySet<string>
  /** Credentials that this request has already tried to refresh. */
  readonly refreshed: ReadonlySet<string>
}

export interface PoolView {
  readonly provider: string
  size(): number
  available(): number
}

export type RecoveryStep =
  /** Credentials cannot help; the caller continues with retries and fallbacks. */
  | { readonly kind: "none" }
  /** Add the credential to `rateLimited`, wait, then retry with it. */
  | { readonly kind: "retry-same" }
  /** Refresh it and retry; when that fails, add it to `refreshed` and call again. */
  | { readonly kind: "refresh" }
  /** Mark it exhausted and take the next one; without a next one treat it as `none`. */
  | { readonly kind: "rotate" }

/** Decides what to do with the credential of a failed request; `recover-credential.ts` executes the step. */
export function nextRecoveryStep(failure: CredentialFailure, state: RecoveryState): RecoveryStep {
  const { pool, credential } = state
  // After a provider switch, the pool may still belong to the old provider; its keys must not go to the new endpoint.
  if (pool === undefined || pool.provider !== state.provider || !failure.rotateCredential) return { kind: "none" }
  switch (failure.reason) {
    case "billing":
      return mayHavePaidSince(failure, state) ? { kind: "refresh" } : { kind: "rotate" }
    case "rate_limit":
      if (failure.errorCode === "usage_limit_reached" || credential.exhausted) return { kind: "rotate" }
      if (!mayRecoverFromRateLimit(pool, state.baseUrl)) return { kind: "none" }
      return state.rateLimited.has(credential.id) ? { kind: "rotate" } : { kind: "retry-same" }
    case "auth":
      return credential.refreshable && !state.refreshed.has(credential.id) ? { kind: "refresh" } : { kind: "rotate" }
    // No other failure depends on the credential.
    default:
      return { kind: "none" }
  }
}

/** A Nous token contains the plan at the time of issue; a user who has paid since then needs a new one. */
function mayHavePaidSince({ status }: CredentialFailure, { provider, credential, refreshed }: RecoveryState): boolean {
  const paymentRequired = status === 402 || status === 404
  return provider === "nous" && paymentRequired && credential.refreshable && !refreshed.has(credential.id)
}

/** True when another key can help against a rate limit; if not, a fallback provider is better than waiting. */
function mayRecoverFromRateLimit(pool: PoolView, baseUrl: string): boolean {
  if (pool.available() === 0) return false
  // This limit belongs to the account, whichever key is used.
  if (pool.provider === "google-gemini-cli" || baseUrl.startsWith("cloudcode-pa://")) return false
  return pool.size() > 1
}
