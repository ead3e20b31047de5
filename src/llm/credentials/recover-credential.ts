import { assertNever } from "../../base/assert-never.ts"
import type { Credential, CredentialSource } from "../credential.ts"
import { nextRecoveryStep } from "./recovery-step.ts"
import type { LlmFailure } from "../failure/failure.ts"

export interface RecoveryInput {
  readonly failure: LlmFailure
  readonly credential: Credential | undefined
  readonly credentials: CredentialSource
  readonly provider: string
  readonly baseUrl: string
  /** Credentials that this request has already retried after a rate limit. */
  readonly rateLimited: Set<string>
  /** Credentials that this request has already tried to refresh. */
  readonly refreshed: Set<string>
  readonly signal: AbortSignal
}

export type Recovery =
  /** Retry immediately with this credential. */
  | { readonly kind: "use"; readonly credential: Credential }
  /** Retry with the same credential after a wait. */
  | { readonly kind: "wait" }
  /** No credential can fix this failure. */
  | { readonly kind: "none" }

/** Refreshes the failed credential, or marks it exhausted and selects the next one, as the failure requires. */
export async function recoverCredential(input: RecoveryInput): Promise<Recovery> {
  const { credential, credentials } = input
  if (credential === undefined) return { kind: "none" }
  const step = nextRecoveryStep(input.failure, {
    provider: input.provider,
    baseUrl: input.baseUrl,
    pool: credentials,
    credential: {
      id: credential.id,
      refreshable: credentials.isRefreshable(credential.id),
      exhausted: credentials.isExhausted(credential.id),
    },
    rateLimited: input.rateLimited,
    refreshed: input.refreshed,
  })
  switch (step.kind) {
    case "none":
      return { kind: "none" }
    case "retry-same":
      input.rateLimited.add(credential.id)
      return { kind: "wait" }
    case "refresh":
      return (await refresh(input, credential)) ?? (await rotate(input, credential))
    case "rotate":
      return await rotate(input, credential)
    default:
      return assertNever(step)
  }
}

async function refresh(input: RecoveryInput, credential: Credential): Promise<Recovery | undefined> {
  input.refreshed.add(credential.id)
  const outcome = await input.credentials.refresh(credential.id, { signal: input.signal, refused: credential.secret })
  if (outcome === "failed" || outcome === "dead") return undefined
  const refreshed = await input.credentials.select()
  return refreshed === undefined ? undefined : { kind: "use", credential: refreshed }
}

async function rotate({ failure, credentials }: RecoveryInput, credential: Credential): Promise<Recovery> {
  await credentials.markExhausted(credential.id, {
    status: failure.status,
    message: failure.message,
    ...(failure.errorCode === undefined ? {} : { reason: failure.errorCode }),
    ...(failure.resetAt === undefined ? {} : { resetAt: failure.resetAt }),
  })
  const next = await credentials.select()
  return next === undefined || next.id === credential.id ? { kind: "none" } : { kind: "use", credential: next }
}
