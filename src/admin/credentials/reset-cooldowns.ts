import { ok, type Result } from "../../base/result.ts"
import { clearCooldowns } from "../../llm/credentials/login-edits.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { openProviderCredentials } from "./provider-credentials.ts"

/** Ends the cooldowns of a provider's credentials. Returns how many there were. */
export async function resetCooldowns(
  context: HomeContext,
  target: { readonly provider: string; readonly signal: AbortSignal },
): Promise<Result<{ readonly provider: string; readonly count: number }, AdminFailure>> {
  const opened = await openProviderCredentials(context, target)
  if (!opened.ok) return opened
  const { provider, location } = opened.value
  const reset = await clearCooldowns(location)
  return reset.ok ? ok({ provider, count: reset.value }) : failed(reset.error)
}
