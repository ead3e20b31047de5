import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { ChosenModel } from "../choose-model.ts"
import { connectionSettingsFor } from "../http/connection-settings.ts"
import { identifyServer } from "../local/local-servers.ts"
import { loadCatalog } from "./catalog.ts"
import { findListedModel } from "./model-list-cache.ts"
import { fetchModelList } from "./model-list.ts"

interface WindowRequestOptions {
  readonly home: Home
  readonly environment: Environment
  readonly version: string
  readonly signal: AbortSignal
}

/**
 * Finds the context window of a model. A local server reports the window it runs with; for other endpoints the catalogue is used,
 * then the endpoint's own model list. Undefined when no source knows it.
 */
export async function requestContextWindow(
  chosen: ChosenModel,
  options: WindowRequestOptions,
): Promise<number | undefined> {
  const { runtime } = chosen
  if (runtime.billingMode === "local") return await localWindow(chosen, options)
  const catalog = await loadCatalog()
  return catalog.find(runtime.provider, runtime.model)?.contextLength ?? (await listedWindow(chosen, options))
}

async function localWindow(
  { runtime, key }: ChosenModel,
  { signal }: WindowRequestOptions,
): Promise<number | undefined> {
  const server = await identifyServer(runtime.baseUrl, { signal, ...(key === undefined ? {} : { key }) })
  // Ollama adds `:latest` to names without a tag.
  const names = [runtime.model, `${runtime.model}:latest`]
  return server?.models.find(({ id }) => names.includes(id))?.contextLength
}

async function listedWindow(chosen: ChosenModel, options: WindowRequestOptions): Promise<number | undefined> {
  const { runtime, key, headers, caBundle, discoverModels } = chosen
  const known = findListedModel(options.home, runtime)?.contextLength
  if (known !== undefined) return known
  const settings = connectionSettingsFor(new URL(runtime.baseUrl), {
    environment: options.environment,
    local: false,
    caBundle,
  })
  if (!settings.ok) return undefined
  const listed = await fetchModelList(
    { ...runtime, key, headers, discoverModels, connectionSettings: settings.value },
    options,
  )
  return listed.ok ? listed.value.find(({ id }) => id === runtime.model)?.contextLength : undefined
}
