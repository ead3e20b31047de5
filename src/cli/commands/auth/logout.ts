import { logOut } from "../../../llm/credentials/login-edits.ts"
import { CliError, type Invocation } from "../../command.ts"
import { openTarget } from "./provider-pool.ts"

/** `hermes auth logout PROVIDER` */
export async function run(invocation: Invocation): Promise<number> {
  const { provider, place } = await openTarget(invocation)
  const done = await logOut(place)
  if (!done.ok) throw new CliError(done.error, { exitCode: 1 })
  invocation.terminal.line(
    done.value === 0 ? `There was no login at ${provider}.` : `Logged out of ${provider}. Keys were kept.`,
  )
  return 0
}
