import { logOut } from "../../../admin/credentials/log-out.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes auth logout PROVIDER` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, positionals, signal } = invocation
  const target = { provider: positionals[0] ?? "", signal }
  const { provider, count } = valueOrCliError(await logOut(homeContext(invocation), target))
  terminal.line(count === 0 ? `There was no login at ${provider}.` : `Logged out of ${provider}. Keys were kept.`)
  return 0
}
