import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import type { Way } from "./http.ts"
import { proxyFor } from "./proxy.ts"
import { trustFile, trustOfEnvironment } from "./trust.ts"

export interface WayOptions {
  readonly environment: Environment
  /** Addresses of this machine and its neighbours never go through a proxy. */
  readonly local: boolean
  /** A file of authorities for this provider alone, and the setting that names it. */
  readonly authorities?: { readonly path: string; readonly setting: string } | undefined
}

/** How an address is reached: by which proxy, and whose certificates are believed. Fails with a sentence that names the variable. */
export function wayTo(url: URL, options: WayOptions): Result<Way> {
  const proxy = proxyFor(url, options)
  if (!proxy.ok) return proxy
  const trust = url.protocol === "https:" ? trustOf(options) : ok(undefined)
  if (!trust.ok) return fail(trust.error)
  return ok({
    ...(proxy.value === undefined ? {} : { proxy: proxy.value }),
    ...(trust.value === undefined ? {} : { trust: trust.value }),
  })
}

function trustOf({ authorities, environment }: WayOptions): ReturnType<typeof trustOfEnvironment> {
  return authorities === undefined ? trustOfEnvironment(environment) : trustFile(authorities.path, authorities.setting)
}
