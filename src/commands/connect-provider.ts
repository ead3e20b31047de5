import { checkProviderKey, unconnectedProviders } from "../admin/models/connect-provider.ts"
import { storeProviderKey, type ProviderSecret } from "../admin/models/store-provider-key.ts"
import { loadHome } from "../admin/loaded-home.ts"
import type { App } from "../app/app.ts"
import { fail, ok, type Result } from "../base/result.ts"
import { asSentence } from "../base/sentence.ts"
import type { SlashContext } from "./slash-command.ts"

/** Asks for the key of a provider and tries it. Undefined where the user cannot be asked. */
export async function askForKey(
  id: string,
  { app, askSecret, signal, note }: SlashContext,
): Promise<Result<ProviderSecret> | undefined> {
  if (askSecret === undefined) return undefined
  const home = await loadHome(app)
  const provider = unconnectedProviders(home).find((candidate) => candidate.id === id)
  if (provider?.missing.kind !== "needs-key") return undefined
  const { variable } = provider.missing
  if (provider.signupUrl !== undefined) note?.(`${provider.name} needs a key. Create one at ${provider.signupUrl}`)
  const key = (await askSecret(`${variable} (not shown, empty to cancel): `))?.trim() ?? ""
  // The user has typed a command.
  if (key === "" || key.startsWith("/")) return fail("No key was stored.")
  const secret = { variable, key }
  const checked = await checkProviderKey(home, provider, { secret, signal })
  if (!checked.ok) return checked
  if (checked.value !== undefined) note?.(checked.value)
  return ok(secret)
}

/** Stores a key as `hermes setup` does, and uses it from now on. Returns sentences for the user, or fails with one. */
export async function storeTypedKey(secret: ProviderSecret, app: App): Promise<Result<readonly string[]>> {
  // Before anything can log it.
  app.redactor.addSecrets([secret.key])
  const stored = await storeProviderKey(await loadHome(app), secret)
  if (!stored.ok) return fail(`The key was not stored: ${asSentence(stored.error.message)}`)
  const { warnings } = app.reloadEnvironment()
  const path = app.home.display(app.home.file(".env"))
  return ok([`The key is stored in ${path} as ${secret.variable}.`, ...stored.value.map(asSentence), ...warnings])
}
