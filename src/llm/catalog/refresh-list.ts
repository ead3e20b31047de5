import type { Clock } from "../../base/clock.ts"
import { fail } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { ChosenModel } from "../choose-model.ts"
import { wayTo } from "../http/way.ts"
import { storeList } from "./list-cache.ts"
import { fetchModelList } from "./model-list.ts"
import type { ListedModel } from "./model-list.ts"

/**
 * The models of the place a chosen model is asked at, fresh from there and kept for the next time (`/model --refresh`). The failure
 * is the end of a sentence that begins with the provider's name.
 */
export async function refreshModelList(
  { runtime, key, headers, authorities, listsModels }: ChosenModel,
  options: {
    readonly home: Home
    readonly environment: Environment
    readonly clock: Clock
    readonly version: string
    readonly signal: AbortSignal
    /** Nobody waits for it: it does not keep the process alive. */
    readonly background?: boolean
  },
): Promise<Result<readonly ListedModel[]>> {
  const { environment, home, clock } = options
  if (runtime.wire === "in-process") return fail("has no list of models to ask for")
  const local = runtime.billingMode === "local"
  const way = wayTo(new URL(runtime.baseUrl), { environment, local, authorities })
  if (!way.ok) return fail(`cannot be asked: ${way.error}`)
  const listed = await fetchModelList({ ...runtime, key, headers, listsModels, way: way.value }, options)
  if (!listed.ok) return listed
  try {
    storeList(home, runtime.baseUrl, { models: listed.value, fetchedAt: clock.now() })
  } catch (error) {
    return fail(`sent its list, but it could not be kept (${explainSystemError(error)})`)
  }
  return listed
}
