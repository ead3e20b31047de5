import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { ChosenModel } from "../choose-model.ts"
import { wayTo } from "../http/way.ts"
import { identifyServer } from "../local/local-servers.ts"
import { loadCatalog } from "./catalog.ts"
import { findListedModel } from "./list-cache.ts"
import { fetchModelList } from "./model-list.ts"

interface AskOptions {
  readonly home: Home
  readonly environment: Environment
  readonly version: string
  readonly signal: AbortSignal
}

/**
 * How much a model can read, from those who know: a server nearby says what it was really given; elsewhere the catalogue, and
 * for what is not in it the endpoint's own list. Undefined when nobody does.
 */
export async function askWindow(chosen: ChosenModel, options: AskOptions): Promise<number | undefined> {
  const { runtime } = chosen
  if (runtime.billingMode === "local") return await windowNearby(chosen, options)
  const catalog = await loadCatalog()
  return catalog.find(runtime.provider, runtime.model)?.contextLength ?? (await listedWindow(chosen, options))
}

async function windowNearby({ runtime, key }: ChosenModel, { signal }: AskOptions): Promise<number | undefined> {
  const server = await identifyServer(runtime.baseUrl, { signal, ...(key === undefined ? {} : { key }) })
  // Ollama adds `:latest` to a name without a tag.
  const names = [runtime.model, `${runtime.model}:latest`]
  return server?.models.find(({ id }) => names.includes(id))?.contextLength
}

async function listedWindow(chosen: ChosenModel, options: AskOptions): Promise<number | undefined> {
  const { runtime, key, headers, authorities, listsModels } = chosen
  const known = findListedModel(options.home, runtime)?.contextLength
  if (known !== undefined) return known
  const way = wayTo(new URL(runtime.baseUrl), { environment: options.environment, local: false, authorities })
  if (!way.ok) return undefined
  const listed = await fetchModelList({ ...runtime, key, headers, listsModels, way: way.value }, options)
  return listed.ok ? listed.value.find(({ id }) => id === runtime.model)?.contextLength : undefined
}
