import { chooseModelFor } from "../../app/services/model-sources.ts"
import { ok, type Result } from "../../base/result.ts"
import { refuseWhenManaged } from "../../config/managed-home.ts"
import { addKey } from "../../llm/credentials/login-edits.ts"
import { isUsableKey } from "../../llm/credentials/usable-key.ts"
import { usesCloudIdentity } from "../../llm/provider.ts"
import { findProvider } from "../../llm/providers.ts"
import { failed, invalid, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { openProviderCredentials, type ProviderCredentials } from "./provider-credentials.ts"

/** A provider that accepts another credential. */
export interface NewCredentialTarget extends ProviderCredentials {
  /** The kind to add unless the user asks for the other one: providers that accept no key need a login. */
  readonly usualKind: "api-key" | "oauth"
  /** Why a key of this provider is not used yet: the address of its server is missing. */
  readonly addressHint: string | undefined
}

/** Opens the credentials of a provider for adding one. Fails where a package manager owns the configuration. */
export async function openForNewCredential(
  context: HomeContext,
  target: { readonly provider: string; readonly signal: AbortSignal },
): Promise<Result<NewCredentialTarget, AdminFailure>> {
  const opened = await openProviderCredentials(context, target)
  if (!opened.ok) return opened
  const { provider, home } = opened.value
  const allowed = refuseWhenManaged(home.home, home.environment)
  if (!allowed.ok) return allowed
  const known = findProvider(provider)
  if (known !== undefined && usesCloudIdentity(known)) {
    return invalid(
      `${known.name} uses the credentials of your cloud account, so Hermes stores no key for it; the guide to models lists them`,
    )
  }
  const needsLogin = known?.authType.startsWith("oauth") === true && known.keyVariables.length === 0
  const route = chooseModelFor(home, { provider: target.provider, model: "any" })
  const addressHint = !route.ok && route.error.code === "bad_address" ? route.error.message : undefined
  return ok({ ...opened.value, usualKind: needsLogin ? "oauth" : "api-key", addressHint })
}

/** Stores a key and returns its label. Storing the same key again only changes the label. */
export async function addApiKey(
  { location }: NewCredentialTarget,
  { key: given, label }: { readonly key: string; readonly label: string | undefined },
): Promise<Result<string, AdminFailure>> {
  const key = given.trim()
  if (!isUsableKey(key) || /\s/.test(key)) return invalid("That is not a key; nothing was stored")
  const added = await addKey(location, { key, label })
  return added.ok ? added : failed(added.error)
}
