import { fail, ok, type Result } from "../../base/result.ts"
import { refreshManifest } from "../../llm/catalog/manifest.ts"
import { refreshModelList } from "../../llm/catalog/refresh-model-list.ts"
import { connectionSettingsFor } from "../../llm/http/connection-settings.ts"
import { isLocalAddress } from "../../llm/local/local-address.ts"
import { PROVIDERS } from "../../llm/providers.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { providerRoute } from "./provider-route.ts"

/** One list that was fetched. A failure is the end of a sentence that begins with `source`. */
export interface RefreshedList {
  /** The address of the manifest, or the name of the provider. */
  readonly source: string
  readonly contains: "provider" | "model"
  readonly count: Result<number>
}

interface RefreshOptions {
  readonly version: string
  readonly signal: AbortSignal
}

/**
 * Fetches and caches the manifest that the settings name, and the model list of every provider that has a key. Empty when there is
 * nothing to fetch.
 */
export async function refreshModelLists(
  home: LoadedHome,
  options: RefreshOptions,
): Promise<{ readonly manifest: RefreshedList | undefined; readonly providers: readonly RefreshedList[] }> {
  const [manifest, providers] = await Promise.all([fetchManifest(home, options), fetchLists(home, options)])
  return { manifest, providers }
}

async function fetchManifest(
  home: LoadedHome,
  { version, signal }: RefreshOptions,
): Promise<RefreshedList | undefined> {
  const { config, environment } = home
  const url = config.get("model_catalog.url")
  if (url === "" || !config.get("model_catalog.enabled")) return undefined
  const report = (count: Result<number>, source = url): RefreshedList => ({ source, contains: "provider", count })
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    return report(fail("is not an http(s) address"), `model_catalog.url ("${url}")`)
  }
  const connectionSettings = connectionSettingsFor(new URL(url), { environment, local: isLocalAddress(url) })
  if (!connectionSettings.ok) return report(fail(`cannot be reached: ${connectionSettings.error}`))
  const fetched = await refreshManifest(home.home, {
    url,
    connectionSettings: connectionSettings.value,
    version,
    signal,
  })
  return report(fetched.ok ? ok(Object.keys(fetched.value.models).length) : fetched)
}

async function fetchLists(home: LoadedHome, options: RefreshOptions): Promise<readonly RefreshedList[]> {
  const current = home.config.get("model.provider")
  const names = new Set([...PROVIDERS.filter(({ keyOptional }) => keyOptional !== true).map(({ id }) => id), current])
  const routes = [...names].flatMap((source) => {
    const route = source === "auto" || source === "demo" ? undefined : providerRoute(home, source)
    return route === undefined || (route.key === undefined && source !== current) ? [] : [{ source, route }]
  })
  return await Promise.all(
    routes.map(async ({ source, route }) => {
      const list = await refreshModelList(route, { ...home, ...options })
      return { source, contains: "model" as const, count: list.ok ? ok(list.value.length) : list }
    }),
  )
}
