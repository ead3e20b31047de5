import { ok, type Result } from "../../base/result.ts"
import { deleteLogins } from "../../llm/credentials/login-edits.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { openProviderCredentials } from "./provider-credentials.ts"

/** Removes all logins of a provider and keeps its keys. Returns how many logins there were. */
export async function logOut(
  context: HomeContext,
  target: { readonly provider: string; readonly signal: AbortSignal },
): Promise<Result<{ readonly provider: string; readonly count: number }, AdminFailure>> {
  const opened = await openProviderCredentials(context, target)
  if (!opened.ok) return opened
  const { provider, location } = opened.value
  const removed = await deleteLogins(location)
  return removed.ok ? ok({ provider, count: removed.value }) : failed(removed.error)
}
