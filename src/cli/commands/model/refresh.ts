import { systemClock } from "../../../base/clock.ts"
import { explainSystemError } from "../../../base/system-error.ts"
import { fail, ok, type Result } from "../../../base/result.ts"
import { isLocalAddress } from "../../../llm/local/local-address.ts"
import { storeList } from "../../../llm/catalog/list-cache.ts"
import { refreshManifest } from "../../../llm/catalog/manifest.ts"
import { fetchModelList, type ListedModel } from "../../../llm/catalog/model-list.ts"
import type { ChosenModel } from "../../../llm/choose-model.ts"
import { PROVIDERS } from "../../../llm/providers.ts"
import { wayTo } from "../../../llm/http/way.ts"
import { counted } from "../../text-layout.ts"
import { VERSION } from "../../version.ts"
import { reachedAs, type ModelPlace } from "./place.ts"

/** Asks every provider that has a key for its list of models, and keeps the answers. False when nothing could be fetched. */
export async function refreshLists(place: ModelPlace): Promise<boolean> {
  const [manifest, lists] = await Promise.all([fetchManifest(place), fetchLists(place)])
  return manifest || lists
}

/** The list of models that the settings point at, where they do. */
async function fetchManifest({ config, environment, home, terminal, signal }: ModelPlace): Promise<boolean> {
  const url = config.get("model_catalog.url")
  if (url === "" || !config.get("model_catalog.enabled")) return false
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    terminal.errLine(`model_catalog.url ("${url}") is not an http(s) address.`)
    return false
  }
  const way = wayTo(new URL(url), { environment, local: isLocalAddress(url) })
  const fetched = way.ok
    ? await refreshManifest(home, { url, way: way.value, version: VERSION, signal })
    : fail(`cannot be asked: ${way.error}`)
  if (fetched.ok) terminal.line(`${url}: ${counted(Object.keys(fetched.value.models).length, "provider")}`)
  else terminal.errLine(`${url} ${fetched.error}.`)
  return fetched.ok
}

async function fetchLists(place: ModelPlace): Promise<boolean> {
  const current = place.config.get("model.provider")
  const names = new Set([...PROVIDERS.filter(({ keyOptional }) => keyOptional !== true).map(({ id }) => id), current])
  const reached = [...names].flatMap((name) => {
    const chosen = name === "auto" || name === "demo" ? undefined : reachedAs(place, name)
    return chosen?.key === undefined && name !== current ? [] : chosen === undefined ? [] : [{ name, chosen }]
  })
  if (reached.length === 0) {
    place.terminal.errLine("No provider has a key yet, so there is no list to fetch. `hermes model` sets one up.")
    return false
  }
  const fetched = await Promise.all(reached.map(({ chosen }) => fetchAndKeep(place, chosen)))
  for (const [index, { name }] of reached.entries()) {
    const result = fetched[index]
    if (result?.ok === true) place.terminal.line(`${name}: ${counted(result.value.length, "model")}`)
    else place.terminal.errLine(`${name} ${result?.error ?? "was not asked"}.`)
  }
  return fetched.some((result) => result.ok)
}

/** One provider's list, fresh from its endpoint. */
export async function fetchAndKeep(place: ModelPlace, chosen: ChosenModel): Promise<Result<readonly ListedModel[]>> {
  const { baseUrl, wire } = chosen.runtime
  const { key, headers, authorities, listsModels } = chosen
  const local = isLocalAddress(baseUrl)
  const way = wayTo(new URL(baseUrl), { environment: place.environment, local, authorities })
  if (!way.ok) return fail(`cannot be asked: ${way.error}`)
  const listed = await fetchModelList(
    { wire, baseUrl, key, headers, listsModels, way: way.value },
    { version: VERSION, signal: place.signal },
  )
  if (!listed.ok) return listed
  try {
    storeList(place.home, baseUrl, { models: listed.value, fetchedAt: systemClock.now() })
  } catch (cause) {
    place.terminal.errLine(`The list could not be kept: ${explainSystemError(cause)}.`)
  }
  return ok(listed.value)
}
