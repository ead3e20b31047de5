import type { Clock } from "../../base/clock.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { ChosenModel } from "../choose-model.ts"
import { connectionSettingsFor } from "../http/connection-settings.ts"
import { storeList } from "./model-list-cache.ts"
import { listProblem, requestModelList, type ListedModel, type ModelListReply } from "./model-list.ts"

interface ListRequest {
  readonly environment: Environment
  readonly version: string
  readonly signal: AbortSignal
  /** The request does not keep the process alive. */
  readonly background?: boolean
}

/**
 * Fetches the model list of a chosen model's endpoint and stores it (`/model --refresh`). The failure text ends a sentence that
 * begins with the provider's name.
 */
export async function refreshModelList(
  chosen: ChosenModel,
  options: ListRequest & { readonly home: Home; readonly clock: Clock },
): Promise<Result<readonly ListedModel[]>> {
  const reply = await requestListOf(chosen, options)
  if (reply.kind !== "listed") return fail(listProblem(reply))
  try {
    storeList(options.home, chosen.runtime.baseUrl, { models: reply.models, fetchedAt: options.clock.now() })
  } catch (error) {
    return fail(`returned its list, but it could not be stored (${explainSystemError(error)})`)
  }
  return ok(reply.models)
}

/** Fetches the list without storing it. */
export async function requestListOf(
  { runtime, key, headers, caBundle, discoverModels }: ChosenModel,
  options: ListRequest,
): Promise<ModelListReply> {
  if (runtime.wire === "in-process") return { kind: "not-sent", reason: "has no model list" }
  const { environment } = options
  const local = runtime.billingMode === "local"
  const settings = connectionSettingsFor(new URL(runtime.baseUrl), { environment, local, caBundle })
  if (!settings.ok) return { kind: "not-sent", reason: `cannot be reached: ${settings.error}` }
  return await requestModelList(
    { ...runtime, key, headers, discoverModels, connectionSettings: settings.value },
    options,
  )
}
