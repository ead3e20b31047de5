import { systemClock } from "../../../base/clock.ts"
import { nearest } from "../../../base/nearest.ts"
import { readAuth } from "../../../config/auth-file.ts"
import { ensureHome } from "../../../config/home.ts"
import type { Config } from "../../../config/load.ts"
import { openCredentialPool, type CredentialPool } from "../../../llm/credentials/pool.ts"
import { poolKey } from "../../../llm/credentials/pool-key.ts"
import { loginPlace, type LoginPlace } from "../../../llm/credentials/stored-login.ts"
import { findProvider, PROVIDERS } from "../../../llm/providers.ts"
import { CliError, type Invocation } from "../../command.ts"
import { openCommandLog } from "../../command-log.ts"
import { loadSettings, type Settings } from "../../settings-access.ts"

/** The provider a command is about, with everything needed to look at and change its credentials. */
export interface AuthTarget {
  readonly provider: string
  readonly settings: Settings
  readonly place: LoginPlace
  readonly pool: CredentialPool
}

/** Opens the credentials of the provider named on the command line; an unknown one ends the command with exit code 2. */
export async function openTarget(invocation: Invocation): Promise<AuthTarget> {
  const { home, environment: inherited, signal, positionals } = invocation
  ensureHome(home, inherited)
  const settings = await loadSettings({ home, environment: inherited })
  const asked = positionals[0] ?? ""
  const known = knownProviders(invocation, settings.config)
  const provider = poolKey(asked, settings.config)
  if (!known.includes(provider) && findProvider(asked) === undefined) {
    const close = nearest(asked, known)
    throw new CliError(
      `There is no provider \`${asked}\`.${close === undefined ? "" : ` Did you mean ${close}?`} Known: ${known.join(", ")}`,
      { exitCode: 2 },
    )
  }
  const { environment } = settings
  const place = loginPlace(provider, { home, environment, clock: systemClock, signal })
  return { provider, settings, place, pool: await openPool(invocation, provider, settings) }
}

export async function openPool(
  { home }: Invocation,
  provider: string,
  { config, environment }: Settings,
): Promise<CredentialPool> {
  const log = openCommandLog(home)
  return await openCredentialPool({
    provider,
    home,
    environment,
    config,
    clock: systemClock,
    log,
    random: Math.random,
  })
}

/** Every provider that can have credentials, under the name they are stored by. */
export function knownProviders({ home }: Invocation, config: Config): readonly string[] {
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
