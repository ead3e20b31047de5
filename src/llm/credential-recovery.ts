import { assertNever } from "../base/assert-never.ts"
import type { Credential, CredentialSource } from "./credential.ts"
import { recover } from "./credentials/recovery.ts"
import type { LlmFailure } from "./failure/failure.ts"

export interface RecoveryInput {
  readonly failure: LlmFailure
  readonly credential: Credential | undefined
  readonly credentials: CredentialSource
  readonly provider: string
  readonly baseUrl: string
  /** Credentials that were limited once in this request already. */
  readonly limited: Set<string>
  /** Credentials that were renewed once in this request already, or could not be. */
  readonly refreshed: Set<string>
  readonly signal: AbortSignal
}

export type Recovery =
  /** Ask again at once with this one. */
  | { readonly kind: "use"; readonly credential: Credential }
  /** The same one again, after a while. */
  | { readonly kind: "wait" }
  /** Credentials cannot help. */
  | { readonly kind: "none" }

/** Does with the key what the failure calls for: renew it, or put it aside and take the next. */
export async function recoverCredential(input: RecoveryInput): Promise<Recovery> {
  const { credential, credentials } = input
  if (credential === undefined) return { kind: "none" }
  const step = recover(input.failure, {
    provider: input.provider,
    baseUrl: input.baseUrl,
    pool: credentials,
    credential: {
      id: credential.id,
      refreshable: credentials.isRefreshable(credential.id),
      exhausted: credentials.isExhausted(credential.id),
    },
    rateLimited: input.limited,
    refreshed: input.refreshed,
  })
  switch (step.kind) {
    case "none":
      return { kind: "none" }
    case "retry-same":
      input.limited.add(credential.id)
      return { kind: "wait" }
    case "refresh":
      return (await renew(input, credential)) ?? (await rotate(input, credential))
    case "rotate":
      return await rotate(input, credential)
    default:
      return assertNever(step)
  }
}

async function renew(input: RecoveryInput, credential: Credential): Promise<Recovery | undefined> {
  input.refreshed.add(credential.id)
  const outcome = await input.credentials.refresh(credential.id, { signal: input.signal, refused: credential.secret })
  if (outcome === "failed" || outcome === "dead") return undefined
  const renewed = await input.credentials.select()
  return renewed === undefined ? undefined : { kind: "use", credential: renewed }
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
