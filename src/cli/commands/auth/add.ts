import { addApiKey, openForNewCredential, type NewCredentialTarget } from "../../../admin/credentials/add-credential.ts"
import { assertNever } from "../../../base/assert-never.ts"
import { CliError, type Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { logInOnTerminal, readLoginFlags } from "./log-in.ts"

/** `hermes auth add PROVIDER` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, flags, positionals, signal } = invocation
  const [provider = ""] = positionals
  const target = valueOrCliError(await openForNewCredential(homeContext(invocation), { provider, signal }))
  const kind = credentialKind(invocation, target)
  const label = flags.text("label")?.trim() || undefined
  switch (kind) {
    case "api-key": {
      const key = await askForKey(invocation, target.provider)
      terminal.line(`Added ${valueOrCliError(await addApiKey(target, { key, label }))} to ${target.provider}.`)
      return 0
    }
    case "oauth": {
      const added = await logInOnTerminal(invocation, target, { ...readLoginFlags(flags), label })
      terminal.line(`Logged in at ${target.provider} as ${added}.`)
      return 0
    }
    default:
      return assertNever(kind)
  }
}

function credentialKind({ flags }: Invocation, { usualKind }: NewCredentialTarget): "api-key" | "oauth" {
  const key = flags.text("api-key")
  const type = flags.text("type")
  if (type === "oauth" && key !== undefined) {
    throw new CliError("`--api-key` cannot be combined with `--type oauth`; leave one out", { exitCode: 2 })
  }
  if (type === "oauth") return "oauth"
  return type === "api-key" || key !== undefined ? "api-key" : usualKind
}

async function askForKey({ terminal, flags }: Invocation, provider: string): Promise<string> {
  const key = flags.text("api-key") ?? (await terminal.ask(`Key for ${provider}: `, { secret: true }))
  if (key !== undefined) return key
  const reason = terminal.stdinIsTty ? "No key was entered" : "There is no terminal to ask for the key"
  throw new CliError(`${reason}; pass it with \`hermes auth add ${provider} --api-key KEY\``, { exitCode: 1 })
}
