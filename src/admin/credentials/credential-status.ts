import { isRecord } from "../../base/json.ts"
import { ok, type Result } from "../../base/result.ts"
import type { CredentialReport } from "../../llm/credentials/pool.ts"
import { parseStrategy, type RotationStrategy } from "../../llm/credentials/select-credential.ts"
import { readLogin } from "../../llm/credentials/stored-login.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { openProviderCredentials } from "./provider-credentials.ts"

export interface CredentialStatus {
  readonly provider: string
  readonly loggedIn: boolean
  readonly strategy: RotationStrategy
  /** How many credentials can be used now, that is, are not in a cooldown. */
  readonly available: number
  readonly total: number
  readonly credentials: readonly CredentialReport[]
}

/** Reports the login, the selection strategy and all credentials of a provider. Contains no secret. */
export async function credentialStatus(
  context: HomeContext,
  target: { readonly provider: string; readonly signal: AbortSignal },
): Promise<Result<CredentialStatus, AdminFailure>> {
  const opened = await openProviderCredentials(context, target)
  if (!opened.ok) return opened
  const { provider, home, location, pool } = opened.value
  const strategies = home.config.get("credential_pool_strategies")
  const credentials = pool.report()
  return ok({
    provider,
    loggedIn: readLogin(location).state !== undefined || credentials.some(({ kind }) => kind === "oauth"),
    strategy: parseStrategy(isRecord(strategies) ? strategies[provider] : undefined),
    available: pool.available(),
    total: pool.size(),
    credentials,
  })
}
