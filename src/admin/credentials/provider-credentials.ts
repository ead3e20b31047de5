import { nearest } from "../../base/nearest-name.ts"
import { ok, type Result } from "../../base/result.ts"
import { asSentence } from "../../base/sentence.ts"
import { readAuth } from "../../config/auth-file.ts"
import { ensureHome } from "../../config/home.ts"
import { loginProblems } from "../../config/stored-logins.ts"
import { openCredentialPool, type CredentialPool } from "../../llm/credentials/pool.ts"
import { poolKey } from "../../llm/credentials/pool-key.ts"
import { locateLogin, type LoginLocation } from "../../llm/credentials/stored-login.ts"
import { findProvider, PROVIDERS } from "../../llm/providers.ts"
import { invalid, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome, type LoadedHome } from "../loaded-home.ts"

/** The credentials of one provider, open for reading and changing. */
export interface ProviderCredentials {
  /** The name under which the credentials are stored: `openrouter`, `custom:lab`. */
  readonly provider: string
  readonly home: LoadedHome
  readonly location: LoginLocation
  readonly pool: CredentialPool
}

/** Opens the credentials of the provider that the user named. Creates the home where there is none yet. */
export async function openProviderCredentials(
  context: HomeContext,
  { provider: named, signal }: { readonly provider: string; readonly signal: AbortSignal },
): Promise<Result<ProviderCredentials, AdminFailure>> {
  const home = await loadHome(context)
  reportDamagedLogins(home)
  const known = knownProviders(home)
  const provider = poolKey(named, home.config)
  if (!known.includes(provider) && findProvider(named) === undefined) {
    const close = nearest(named, known)
    const hint = close === undefined ? "" : ` Did you mean ${close}?`
    return invalid(`There is no provider \`${named}\`.${hint} Known: ${known.join(", ")}`)
  }
  ensureHome(context.home, context.environment)
  const location = locateLogin(provider, { ...home, signal })
  return ok({ provider, home, location, pool: await openPool(provider, home) })
}

/** Without this a damaged file would look like one without credentials. */
export function reportDamagedLogins({ home, notify }: Pick<HomeContext, "home" | "notify">): void {
  for (const problem of loginProblems(home)) notify?.(asSentence(problem))
}

export async function openPool(provider: string, home: LoadedHome): Promise<CredentialPool> {
  return await openCredentialPool({ ...home, provider, random: Math.random })
}

/** Every provider that can have credentials, under the name they are stored by. */
export function knownProviders({ home, config }: LoadedHome): readonly string[] {
  const { store } = readAuth(home)
  return [
    ...new Set([
      ...PROVIDERS.map(({ id }) => id),
      ...Object.keys(config.get("providers")).map((name) => poolKey(name, config)),
      ...Object.keys(store.credentialPool),
      ...Object.keys(store.providers),
    ]),
  ]
}
