import { isRecord, stringField } from "../../base/json.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import type { Config } from "../../config/load-config.ts"
import { loadTrustFile } from "../http/tls-trust.ts"
import type { TlsTrust } from "../http/tls-trust.ts"
import { providerSettings } from "./pool-key.ts"

/**
 * Returns the certificate authorities to trust for a provider's login server: the bundle of this login, else
 * `providers.<name>.ca_bundle`; undefined leaves it to the environment.
 */
export function loginTrust(
  provider: string,
  options: {
    readonly config: Config
    readonly bundle?: { readonly path: string; readonly origin: string } | undefined
  },
): Result<TlsTrust | undefined> {
  const { bundle } = options
  if (bundle !== undefined) return loadTrustFile(bundle.path, bundle.origin)
  const { name, fields } = providerSettings(provider, options.config)
  const path = stringField(fields, "ca_bundle")?.trim() ?? ""
  return path === "" ? ok(undefined) : loadTrustFile(path, `the setting providers.${name}.ca_bundle`)
}

/** The fields to store with a login, so that refreshing it uses the same CA bundle. The Python edition uses the same names. */
export function caBundleFields(path: string): Tree {
  return { tls: { ca_bundle: path } }
}

/** Removes the CA bundle of a former login, because a new login must not inherit it. */
export function withoutCaBundle({ tls: _former, ...kept }: Tree): Tree {
  return kept
}

/** Returns the CA bundle of a stored login. Disabled verification (`--insecure`) is never stored. */
export function caBundleOfLogin(login: Tree): { readonly path: string; readonly origin: string } | undefined {
  const path = isRecord(login["tls"]) ? (stringField(login["tls"], "ca_bundle") ?? "") : ""
  return path === "" ? undefined : { path, origin: "the stored login" }
}
