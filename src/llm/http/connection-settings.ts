import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import type { ConnectionSettings } from "./http-connection.ts"
import { proxyFor } from "./proxy.ts"
import { loadTrustFile, trustFromEnvironment } from "./tls-trust.ts"

export interface ConnectionSettingsOptions {
  readonly environment: Environment
  /** The address is on this machine or its local network, so no proxy is used. */
  readonly local: boolean
  /** A CA bundle for this provider alone, and the setting that names it. */
  readonly caBundle?: { readonly path: string; readonly setting: string } | undefined
}

/** Returns the proxy and TLS trust for a URL. The failure message names the variable or setting to correct. */
export function connectionSettingsFor(url: URL, options: ConnectionSettingsOptions): Result<ConnectionSettings> {
  const proxy = proxyFor(url, options)
  if (!proxy.ok) return proxy
  const trust = url.protocol === "https:" ? trustOf(options) : ok(undefined)
  if (!trust.ok) return fail(trust.error)
  return ok({
    ...(proxy.value === undefined ? {} : { proxy: proxy.value }),
    ...(trust.value === undefined ? {} : { trust: trust.value }),
  })
}

function trustOf({ caBundle, environment }: ConnectionSettingsOptions): ReturnType<typeof trustFromEnvironment> {
  return caBundle === undefined ? trustFromEnvironment(environment) : loadTrustFile(caBundle.path, caBundle.setting)
}
