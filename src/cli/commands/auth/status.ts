import { credentialStatus } from "../../../admin/credentials/credential-status.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { credentialJson, printCredentials } from "./credential-lines.ts"

/** `hermes auth status PROVIDER` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, positionals, signal } = invocation
  const target = { provider: positionals[0] ?? "", signal }
  const status = valueOrCliError(await credentialStatus(homeContext(invocation), target))
  const { provider, loggedIn, strategy, available, total, credentials } = status
  if (flags.has("json")) {
    printJson(terminal, { provider, logged_in: loggedIn, strategy, credentials: credentials.map(credentialJson) })
    return 0
  }
  terminal.line(`Provider    ${provider}`)
  terminal.line(`Logged in   ${loggedIn ? "yes" : "no"}`)
  terminal.line(`Strategy    ${strategy}`)
  terminal.line(`Usable now  ${available} of ${total}`)
  printCredentials(credentials, invocation)
  return 0
}
