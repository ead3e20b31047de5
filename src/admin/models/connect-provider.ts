import { chooseModelFor } from "../../app/services/model-sources.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { asSentence } from "../../base/sentence.ts"
import { suppressedVariables } from "../../config/stored-logins.ts"
import { isUsableKey } from "../../llm/credentials/usable-key.ts"
import { CUSTOM_PROVIDER, PROVIDERS } from "../../llm/providers.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { probeProvider } from "../report/probe-provider.ts"
import { providerAccess, type ProviderAccess } from "./model-providers.ts"
import { withProviderKey, type ProviderSecret } from "./store-provider-key.ts"

/** A provider that cannot be used yet. */
export interface UnconnectedProvider {
  readonly id: string
  readonly name: string
  /** Where the user creates a key. */
  readonly signupUrl: string | undefined
  readonly missing: Exclude<ProviderAccess, { kind: "ready" }>
}

/** The providers of the table without a key, a login or an address. No server is asked. */
export function unconnectedProviders(home: LoadedHome): readonly UnconnectedProvider[] {
  return PROVIDERS.flatMap((provider): readonly UnconnectedProvider[] => {
    if (provider.authType === "external_process") return []
    const missing = providerAccess(home, provider)
    const { id, name, signupUrl } = provider
    return missing.kind === "ready" ? [] : [{ id, name, signupUrl, missing }]
  })
}

/** It stands for any OpenAI-compatible server, so only an address is missing. */
export function isServerOfUser({ id }: Pick<UnconnectedProvider, "id">): boolean {
  return id === CUSTOM_PROVIDER.id
}

/**
 * Sends a key that the user typed to its provider, in a request that costs nothing. Fails with a sentence when the key cannot be used;
 * otherwise returns one when it could not be checked. Nothing is stored.
 */
export async function checkProviderKey(
  home: LoadedHome,
  { id, name }: Pick<UnconnectedProvider, "id" | "name">,
  { secret, signal }: { readonly secret: ProviderSecret; readonly signal: AbortSignal },
): Promise<Result<string | undefined>> {
  const { key, variable } = secret
  // It never begins with a slash; a command such as /quit does.
  if (!isUsableKey(key) || !/^[!-.0-~][!-~]*$/u.test(key))
    return fail("That is not a key. Copy it again, without other text.")
  if (suppressedVariables(home.home).has(variable))
    return fail(`${variable} was removed with \`hermes auth remove\`. Add the key with \`hermes auth add ${id}\`.`)
  const route = chooseModelFor(withProviderKey(home, secret), { provider: id, model: "any" })
  if (!route.ok) return fail(asSentence(route.error.message))
  const credential = { id: variable, label: variable, secret: key, kind: "api_key" as const, source: variable }
  const probe = await probeProvider(home, route.value, { credential, signal })
  if (probe.level === "failure") return fail(`${name} ${probe.text}. Check the key and type it again.`)
  return ok(probe.level === "ok" ? undefined : `The key could not be checked: ${name} ${probe.text}.`)
}
