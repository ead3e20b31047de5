import { ok, type Result } from "../../base/result.ts"
import { deleteCredential } from "../../llm/credentials/login-edits.ts"
import type { CredentialReport } from "../../llm/credentials/pool.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { openProviderCredentials } from "./provider-credentials.ts"

export interface RemovedCredential {
  readonly provider: string
  readonly label: string
  /** The variable or setting that still contains the key; Hermes ignores it from now on. */
  readonly remainsIn: string | undefined
}

/** Removes a credential, named by its id, its label, or its number in the list (from 1). */
export async function removeCredential(
  context: HomeContext,
  target: { readonly provider: string; readonly credential: string; readonly signal: AbortSignal },
): Promise<Result<RemovedCredential, AdminFailure>> {
  const opened = await openProviderCredentials(context, target)
  if (!opened.ok) return opened
  const { provider, location, pool } = opened.value
  const found = findCredential(pool.report(), target.credential)
  if (!found.ok) return found
  if (found.value === undefined) {
    return failed(
      `There is no credential \`${target.credential}\` at ${provider}; \`hermes auth list ${provider}\` shows them`,
    )
  }
  const { label, source } = found.value
  const removed = await deleteCredential(location, found.value)
  if (!removed.ok) return failed(removed.error)
  return ok({ provider, label, remainsIn: /^(?:env|config):(.*)$/.exec(source)?.[1] })
}

function findCredential(
  reports: readonly CredentialReport[],
  named: string,
): Result<CredentialReport | undefined, AdminFailure> {
  const labelled = reports.filter(({ label }) => label === named)
  if (labelled.length > 1) {
    const ids = labelled.map(({ id }) => id).join(", ")
    return failed(`Several credentials are called \`${named}\`; name one by its id: ${ids}`)
  }
  const exact = reports.find(({ id }) => id === named) ?? labelled[0]
  if (exact !== undefined) return ok(exact)
  return ok(/^[1-9]\d{0,3}$/.test(named) ? reports[Number(named) - 1] : undefined)
}
