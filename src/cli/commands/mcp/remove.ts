import { removeServer } from "../../../admin/mcp/change-servers.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { openHome } from "./open-home.ts"

/** `hermes mcp remove NAME` */
export async function run(invocation: Invocation): Promise<number> {
  const [name = ""] = invocation.positionals
  valueOrCliError(await removeServer(await openHome(invocation), name))
  invocation.terminal.line(`Removed ${name}.`)
  return 0
}
