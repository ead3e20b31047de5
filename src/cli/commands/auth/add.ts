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
      const key = await readKey(invocation, target.provider)
      terminal.line(`Added ${valueOrCliError(await addApiKey(target, { key, label }))} to ${target.provider}.`)
      if (target.addressHint !== undefined) terminal.errLine(`The key is not used yet: ${target.addressHint}.`)
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

/** A key is one line of at most a few thousand characters. */
const MAX_KEY_BYTES = 64_000

/** The key from `--api-key`, from standard input, or asked for without an echo. */
async function readKey({ terminal, flags, signal }: Invocation, provider: string): Promise<string> {
  const given = flags.text("api-key")
  if (given !== undefined) return given
  if (!terminal.stdinIsTty && terminal.stdinIsPiped) {
    const { text } = await terminal.readStdin({ maxBytes: MAX_KEY_BYTES, signal })
    const key = text.trim()
    if (key === "")
      throw new CliError("Standard input is empty; write the key to it, or pass it with `--api-key`", { exitCode: 1 })
    if (/\s/u.test(key))
      throw new CliError("Standard input contains more than one word; write only the key to it", { exitCode: 2 })
    return key
  }
  const key = await terminal.ask(`Key for ${provider}: `, { secret: true })
  if (key?.trim().startsWith("/") === true) throw new CliError("That is not a key; nothing was stored", { exitCode: 1 })
  if (key !== undefined) return key
  const reason = terminal.stdinIsTty ? "No key was entered" : "There is no terminal to ask for the key"
  throw new CliError(
    `${reason}; write it to standard input, or pass it with \`hermes auth add ${provider} --api-key KEY\``,
    { exitCode: 1 },
  )
}
