import { revoke } from "../../../admin/hooks/hooks.ts"
import { CliError } from "../../command.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes hooks revoke` */
export async function run(invocation: Invocation): Promise<number> {
  const [command = ""] = invocation.positionals
  const removed = await revoke(homeContext(invocation), command)
  if (removed === 0)
    throw new CliError(`The hook \`${command}\` was not approved. See \`hermes hooks list\`.`, { exitCode: 1 })
  invocation.terminal.line(`Revoked: ${command}`)
  return 0
}
