import { listCredentials } from "../../../admin/credentials/list-credentials.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { credentialJson, printCredentials } from "./credential-lines.ts"

/** `hermes auth list [PROVIDER]` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, positionals, signal } = invocation
  const lists = valueOrCliError(await listCredentials(homeContext(invocation), { provider: positionals[0], signal }))
  if (flags.has("json")) {
    printJson(
      terminal,
      lists.map(({ provider, credentials }) => ({ provider, credentials: credentials.map(credentialJson) })),
    )
    return 0
  }
  if (lists.length === 0) terminal.line("There are no credentials. Add one with `hermes auth add PROVIDER`.")
  for (const { provider, credentials } of lists) {
    terminal.line(provider)
    printCredentials(credentials, invocation)
  }
  return 0
}
