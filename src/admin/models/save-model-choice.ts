import { ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { valueAt } from "../../config/document/document-tree.ts"
import { editConfig, type ConfigEdit } from "../../config/edit-config.ts"
import { rememberWindow } from "../../llm/catalog/context-window-cache.ts"
import { smallWindowWarning } from "../../llm/catalog/context-window.ts"
import { toolUseWarning } from "../../llm/catalog/model-names.ts"
import type { Provider } from "../../llm/provider.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"

export interface ModelChoice {
  readonly provider: Provider
  readonly model: { readonly id: string; readonly contextLength?: number }
  /** Where it differs from the provider's own address. */
  readonly baseUrl: string | undefined
  /** Text for `model.api_key`, for example `${CUSTOM_API_KEY}`. */
  readonly apiKey?: string
  /** The context length comes from a local server, so it is cached for the next start. */
  readonly fromLocalServer: boolean
}

/** Makes a model the default, in one edit that also removes what belonged to the previous provider. Returns warnings about the model. */
export async function saveModelChoice(
  home: LoadedHome,
  choice: ModelChoice,
): Promise<Result<readonly string[], AdminFailure>> {
  const { provider, model, baseUrl } = choice
  const written = home.config.user()
  const values: Readonly<Record<string, string | undefined>> = {
    "model.provider": provider.id,
    "model.default": model.id,
    "model.base_url": baseUrl,
    "model.api_key": choice.apiKey,
    "model.api_mode": undefined,
    "model.context_length": undefined,
  }
  const edits = Object.entries(values).flatMap(([path, value]): ConfigEdit[] => {
    if (value !== undefined) return [{ path, value }]
    return valueAt(written, path) === undefined ? [] : [{ path, remove: true }]
  })
  const saved = await editConfig(home, edits)
  if (!saved.ok) return saved
  const warnings = [
    choice.fromLocalServer ? cacheWindow(home, choice) : undefined,
    toolUseWarning(model.id),
    model.contextLength === undefined ? undefined : smallWindowWarning(model.contextLength),
  ]
  return ok(warnings.filter((warning) => warning !== undefined))
}

function cacheWindow({ home }: LoadedHome, { provider, model, baseUrl }: ModelChoice): string | undefined {
  if (model.contextLength === undefined) return undefined
  try {
    rememberWindow(home, { model: model.id, baseUrl: baseUrl ?? provider.baseUrl, tokens: model.contextLength })
    return undefined
  } catch (cause) {
    return `The context window could not be cached: ${explainSystemError(cause)}.`
  }
}
