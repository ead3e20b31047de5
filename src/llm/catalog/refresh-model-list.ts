import type { Clock } from "../../base/clock.ts"
import { fail } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { ChosenModel } from "../choose-model.ts"
import { connectionSettingsFor } from "../http/connection-settings.ts"
import { storeList } from "./model-list-cache.ts"
import { fetchModelList } from "./model-list.ts"
import type { ListedModel } from "./model-list.ts"

/**
 * Fetches the model list of a chosen model's endpoint and stores it (`/model --refresh`). The failure text ends a sentence that
 * begins with the provider's name.
 */
export async function refreshModelList(
  { runtime, key, headers, caBundle, discoverModels }: ChosenModel,
  options: {
    readonly home: Home
    readonly environment: Environment
    readonly clock: Clock
    readonly version: string
    readonly signal: AbortSignal
    /** The request does not keep the process alive. */
    readonly background?: boolean
  },
): Promise<Result<readonly ListedModel[]>> {
  const { environment, home, clock } = options
  if (runtime.wire === "in-process") return fail("has no model list")
  const local = runtime.billingMode === "local"
  const settings = connectionSettingsFor(new URL(runtime.baseUrl), { environment, local, caBundle })
  if (!settings.ok) return fail(`cannot be reached: ${settings.error}`)
  const listed = await fetchModelList(
    { ...runtime, key, headers, discoverModels, connectionSettings: settings.value },
    options,
  )
  if (!listed.ok) return listed
  try {
    storeList(home, runtime.baseUrl, { models: listed.value, fetchedAt: clock.now() })
  } catch (error) {
    return fail(`returned its list, but it could not be stored (${explainSystemError(error)})`)
  }
  return listed
}
