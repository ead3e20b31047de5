import type { Invocation } from "../../command.ts"
import { printJson } from "../../json-output.ts"
import { loadSettings } from "../../settings-access.ts"
import { credentialJson, credentialLines } from "./credential-lines.ts"
import { knownProviders, openPool, openTarget } from "./provider-pool.ts"

/** `hermes auth list [PROVIDER]` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const listed = (await pools(invocation)).map((pool) => ({ provider: pool.provider, credentials: pool.report() }))
  const shown = listed.filter(({ credentials }) => credentials.length > 0)
  if (flags.has("json")) {
    printJson(
      terminal,
      shown.map(({ provider, credentials }) => ({ provider, credentials: credentials.map(credentialJson) })),
    )
    return 0
  }
  if (shown.length === 0) terminal.line("There are no credentials. Add one with `hermes auth add PROVIDER`.")
  for (const { provider, credentials } of shown) {
    terminal.line(provider)
    for (const line of credentialLines(credentials)) terminal.line(line)
  }
  return 0
}

async function pools(invocation: Invocation) {
  if (invocation.positionals[0] !== undefined) return [(await openTarget(invocation)).pool]
  const settings = await loadSettings(invocation)
  const providers = knownProviders(invocation, settings.config)
  return await Promise.all(providers.map(async (provider) => await openPool(invocation, provider, settings)))
}
