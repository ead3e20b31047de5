import { resetCooldowns } from "../../../llm/credentials/login-edits.ts"
import { CliError, type Invocation } from "../../command.ts"
import { openTarget } from "./provider-pool.ts"

/** `hermes auth reset PROVIDER` */
export async function run(invocation: Invocation): Promise<number> {
  const { provider, place } = await openTarget(invocation)
  const reset = await resetCooldowns(place)
  if (!reset.ok) throw new CliError(reset.error, { exitCode: 1 })
  invocation.terminal.line(
    reset.value === 0
      ? `No credential of ${provider} was waiting.`
      : `${reset.value} ${reset.value === 1 ? "credential" : "credentials"} of ${provider} can be used again.`,
  )
  return 0
}
