import { ok, type Result } from "../../base/result.ts"
import type { CredentialReport } from "../../llm/credentials/pool.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { knownProviders, openPool, openProviderCredentials, reportDamagedLogins } from "./provider-credentials.ts"

/** The credentials of one provider in the order in which `removeCredential` numbers them. Contains no secret. */
export interface CredentialList {
  readonly provider: string
  readonly credentials: readonly CredentialReport[]
}

/** Lists the credentials of one provider, or of all; providers without any are left out. */
export async function listCredentials(
  context: HomeContext,
  { provider, signal }: { readonly provider: string | undefined; readonly signal: AbortSignal },
): Promise<Result<readonly CredentialList[], AdminFailure>> {
  const pools = provider === undefined ? ok(await allPools(context)) : await onePool(context, { provider, signal })
  if (!pools.ok) return pools
  const lists = pools.value.map((pool) => ({ provider: pool.provider, credentials: pool.report() }))
  return ok(lists.filter(({ credentials }) => credentials.length > 0))
}

async function allPools(context: HomeContext) {
  const home = await loadHome(context)
  reportDamagedLogins(home)
  return await Promise.all(knownProviders(home).map(async (provider) => await openPool(provider, home)))
}

async function onePool(context: HomeContext, target: Parameters<typeof openProviderCredentials>[1]) {
  const opened = await openProviderCredentials(context, target)
  return opened.ok ? ok([opened.value.pool]) : opened
}
