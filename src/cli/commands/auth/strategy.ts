import { setStrategy } from "../../../admin/credentials/set-strategy.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes auth strategy PROVIDER NAME` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, positionals, signal } = invocation
  const target = { provider: positionals[0] ?? "", strategy: positionals[1] ?? "", signal }
  const { provider, strategy } = valueOrCliError(await setStrategy(homeContext(invocation), target))
  terminal.line(`Credentials of ${provider} are now selected with the strategy ${strategy}.`)
  return 0
}
