/** One key or login, ready to be sent. */
export interface Credential {
  readonly id: string
  readonly label: string
  readonly secret: string
  readonly kind: "api_key" | "oauth"
  /** Where it came from, for people; never the secret. */
  readonly source: string
  /** The address it was issued for, where a login names one. */
  readonly baseUrl?: string
}

/** Where the client takes credentials from and reports what became of them. */
export interface CredentialSource {
  readonly provider: string
  /** The one to use now; undefined when none is available. */
  select(): Promise<Credential | undefined>
  markExhausted(id: string, why: Exhaustion): Promise<void>
  /** Renews a login. `adopted`: another process had done it already. `dead`: it cannot be renewed any more. */
  refresh(
    id: string,
    /** `refused`: the secret the server did not take; where another one is there meanwhile, that is the renewal. */
    options: { readonly signal: AbortSignal; readonly refused?: string },
  ): Promise<"refreshed" | "adopted" | "failed" | "dead">
  size(): number
  /** How many may be used now. */
  available(): number
  /** Epoch seconds at which the first of those that rest may be used again; undefined when none of them will. */
  nextAvailableAt(): number | undefined
  isRefreshable(id: string): boolean
  isExhausted(id: string): boolean
}

export interface Exhaustion {
  readonly status: number | null
  readonly reason?: string
  readonly message?: string
  /** Epoch seconds, where the server named it. */
  readonly resetAt?: number
}

/** A single key that nobody manages: what most people have. */
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
