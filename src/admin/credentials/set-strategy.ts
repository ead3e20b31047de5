import { ok, type Result } from "../../base/result.ts"
import { editConfig } from "../../config/edit-config.ts"
import { SELECTION_STRATEGIES, type RotationStrategy } from "../../llm/credentials/select-credential.ts"
import { invalid, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { openProviderCredentials } from "./provider-credentials.ts"

/** Sets how the credentials of a provider are selected. */
export async function setStrategy(
  context: HomeContext,
  target: { readonly provider: string; readonly strategy: string; readonly signal: AbortSignal },
): Promise<Result<{ readonly provider: string; readonly strategy: RotationStrategy }, AdminFailure>> {
  const opened = await openProviderCredentials(context, target)
  if (!opened.ok) return opened
  const { provider, home } = opened.value
  const strategy = SELECTION_STRATEGIES.find((known) => known === target.strategy)
  if (strategy === undefined) {
    return invalid(`\`${target.strategy}\` is not a strategy; choose ${SELECTION_STRATEGIES.join(", ")}`)
  }
  const path = ["credential_pool_strategies", provider]
  const edited = await editConfig(home, [{ path, value: strategy }])
  return edited.ok ? ok({ provider, strategy }) : edited
}
