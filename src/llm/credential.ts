/** Where a credential is kept: in `auth.json`, in an environment variable, or in the settings. */
export type CredentialOrigin = "stored" | "environment" | "settings"

/** One API key or login token, ready to be sent. */
export interface Credential {
  readonly id: string
  readonly label: string
  readonly secret: string
  readonly kind: "api_key" | "oauth"
  /** Where it came from, for display; never the secret. */
  readonly source: string
  /** The endpoint a login was issued for, when it names one. */
  readonly baseUrl?: string
}

/** Supplies credentials for requests and records which of them the server refused. */
export interface CredentialSource {
  readonly provider: string
  /** Returns the credential to use now, or undefined when none is available. */
  select(): Promise<Credential | undefined>
  markExhausted(id: string, why: Exhaustion): Promise<void>
  /** Refreshes a login. `adopted`: another process had already refreshed it. `dead`: it can never be refreshed again. */
  refresh(
    id: string,
    /** `refused`: the secret the server rejected. When the source already holds a different one, that one is adopted. */
    options: { readonly signal: AbortSignal; readonly refused?: string },
  ): Promise<"refreshed" | "adopted" | "failed" | "dead">
  size(): number
  /** The number of credentials that may be used now. */
  available(): number
  /** When the first cooldown ends, in epoch seconds; undefined when none is running. */
  nextAvailableAt(): number | undefined
  isRefreshable(id: string): boolean
  isExhausted(id: string): boolean
  /** Stores what was counted and not stored yet. No credential is selected afterwards. */
  close?(): void
}

export interface Exhaustion {
  readonly status: number | null
  readonly reason?: string
  readonly message?: string
  /** Epoch seconds, when the server sent it. */
  readonly resetAt?: number
}

/** A source with one fixed key, or none. It has no cooldown and cannot be refreshed. */
export function singleCredential(provider: string, credential: Credential | undefined): CredentialSource {
  const size = (): number => (credential === undefined ? 0 : 1)
  return {
    provider,
    select: () => Promise.resolve(credential),
    markExhausted: () => Promise.resolve(),
    refresh: () => Promise.resolve("failed"),
    size,
    available: size,
    nextAvailableAt: () => undefined,
    isRefreshable: () => false,
    isExhausted: () => false,
  }
}
