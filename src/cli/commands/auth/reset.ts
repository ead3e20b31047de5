import { resetCooldowns } from "../../../admin/credentials/reset-cooldowns.ts"
import { counted } from "../../../base/counted.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes auth reset PROVIDER` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, positionals, signal } = invocation
  const target = { provider: positionals[0] ?? "", signal }
  const { provider, count } = valueOrCliError(await resetCooldowns(homeContext(invocation), target))
  terminal.line(
    count === 0
      ? `No credential of ${provider} was in a cooldown.`
      : `${counted(count, "credential")} of ${provider} can be used again.`,
  )
  return 0
}
