import type { Exhaustion } from "../credential.ts"
import { isManual, type CredentialState, type PooledCredential } from "./pooled-credential.ts"
import { parseTimestamp } from "../failure/reset-time.ts"

const REFUSED_SECONDS = 300
const EXHAUSTED_SECONDS = 3600
const KEEP_DEAD_SECONDS = 24 * 3600

/** Error codes for a login that is permanently invalid. */
const TERMINAL_CODES: ReadonlySet<string> = new Set([
  "token_invalidated",
  "token_revoked",
  "invalid_token",
  "invalid_grant",
  "unauthorized_client",
  "refresh_token_reused",
])

export function isTerminal(errorCode: string | undefined): boolean {
  return errorCode !== undefined && TERMINAL_CODES.has(errorCode)
}

/** Returns the state of a credential that the server just refused. `now` in epoch seconds. */
export function stateAfterRefusal(why: Exhaustion, now: number): CredentialState {
  return {
    status: why.status === 401 && isTerminal(why.reason) ? "dead" : "exhausted",
    at: now,
    errorCode: why.status,
    errorReason: why.reason ?? null,
    errorMessage: why.message ?? null,
    resetAt: parseTimestamp(why.resetAt) ?? null,
  }
}

export function okState(now: number): CredentialState {
  return { status: "ok", at: now, errorCode: null, errorReason: null, errorMessage: null, resetAt: null }
}

/** Returns when the cooldown of an exhausted credential ends, in epoch seconds; undefined when it has none. */
export function cooldownEnd({ state }: PooledCredential): number | undefined {
  if (state.status !== "exhausted") return undefined
  if (state.resetAt !== null) return state.resetAt
  return (state.at ?? 0) + (state.errorCode === 401 ? REFUSED_SECONDS : EXHAUSTED_SECONDS)
}

export function isCredentialAvailable(entry: PooledCredential, now: number): boolean {
  if (entry.accessToken === "" || entry.state.status === "dead") return false
  const end = cooldownEnd(entry)
  return end === undefined || end <= now
}

/** True for a manually added entry that has been dead for a day: it cannot recover and only clutters the list. */
export function shouldForget({ source, state }: PooledCredential, now: number): boolean {
  return isManual(source) && state.status === "dead" && now - (state.at ?? now) > KEEP_DEAD_SECONDS
}
