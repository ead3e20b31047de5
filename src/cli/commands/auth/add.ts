import { assertNever } from "../../../base/assert-never.ts"
import { refuseWhenManaged } from "../../../config/managed.ts"
import { addKey } from "../../../llm/credentials/login-edits.ts"
import { isUsableKey } from "../../../llm/credentials/usable-key.ts"
import { findProvider } from "../../../llm/providers.ts"
import { CliError, type Invocation } from "../../command.ts"
import { granted } from "../../settings-access.ts"
import { openTarget, type AuthTarget } from "./provider-pool.ts"
import { loginWishes, logInAndKeep } from "./log-in.ts"

/** `hermes auth add PROVIDER` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, flags, home } = invocation
  const target = await openTarget(invocation)
  granted(refuseWhenManaged(home, target.settings.environment))
  const kind = credentialKind(invocation, target)
  const label = flags.text("label")?.trim() || undefined
  switch (kind) {
    case "api-key": {
      const key = await askForKey(invocation, target.provider)
      const added = await addKey(target.place, { key, label })
      if (!added.ok) throw new CliError(added.error, { exitCode: 1 })
      terminal.line(`Added ${added.value} to ${target.provider}.`)
      return 0
    }
    case "oauth": {
      const added = await logInAndKeep(invocation, target, { ...loginWishes(flags), label })
      terminal.line(`Logged in at ${target.provider} as ${added}.`)
      return 0
    }
    default:
      return assertNever(kind)
  }
}

/** Providers that take no key are logged in at; all others get a key unless a login is asked for. */
function credentialKind({ flags }: Invocation, { provider }: AuthTarget): "api-key" | "oauth" {
  const key = flags.text("api-key")
  const asked = flags.text("type")
  if (asked === "oauth" && key !== undefined) {
    throw new CliError("`--api-key` does not go with `--type oauth`; leave one out", { exitCode: 2 })
  }
  if (asked === "oauth") return "oauth"
  if (asked === "api-key" || key !== undefined) return "api-key"
  const known = findProvider(provider)
  return known?.authType.startsWith("oauth") === true && known.keyVariables.length === 0 ? "oauth" : "api-key"
}

async function askForKey({ terminal, flags }: Invocation, provider: string): Promise<string> {
  const given = flags.text("api-key") ?? (await terminal.ask(`Key for ${provider}: `, { secret: true }))
  if (given === undefined) {
    throw new CliError(`Nobody is there to type the key; give it with \`hermes auth add ${provider} --api-key KEY\``, {
      exitCode: 1,
    })
  }
  const key = given.trim()
  if (!isUsableKey(key) || /\s/.test(key)) {
    throw new CliError("That is not a key; nothing was stored", { exitCode: 2 })
  }
  return key
}
