import { isRecord, stringField } from "../../base/json.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import type { Config } from "../../config/load.ts"
import { trustFile } from "../http/trust.ts"
import type { Trust } from "../http/trust.ts"
import { providerSettings } from "./pool-key.ts"

/**
 * Whose certificates are believed at the login server of a provider: what was named for this login, else
 * `providers.<name>.ca_bundle`; undefined leaves it to the environment.
 */
export function loginTrust(
  provider: string,
  options: {
    readonly config: Config
    readonly bundle?: { readonly path: string; readonly namedBy: string } | undefined
  },
): Result<Trust | undefined> {
  const { bundle } = options
  if (bundle !== undefined) return trustFile(bundle.path, bundle.namedBy)
  const { name, fields } = providerSettings(provider, options.config)
  const path = stringField(fields, "ca_bundle")?.trim() ?? ""
  return path === "" ? ok(undefined) : trustFile(path, `the setting providers.${name}.ca_bundle`)
}

/** What is stored with a login, so that it can be renewed; the name of the field is the P-edition's. */
export function storedBundle(path: string): Tree {
  return { tls: { ca_bundle: path } }
}

/** A login that was made anew believes only what it was made with. */
export function withoutBundle({ tls: _former, ...kept }: Tree): Tree {
  return kept
}

/** The file a login was made with. That somebody once switched the check off is not remembered. */
export function bundleOf(login: Tree): { readonly path: string; readonly namedBy: string } | undefined {
  const path = isRecord(login["tls"]) ? (stringField(login["tls"], "ca_bundle") ?? "") : ""
  return path === "" ? undefined : { path, namedBy: "the stored login" }
}
