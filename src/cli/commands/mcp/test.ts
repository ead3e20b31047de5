import { testServer } from "../../../admin/mcp/test-server.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { openHome, operation } from "./open-home.ts"
import { printServer } from "./print-server.ts"

/** `hermes mcp test NAME` */
export async function run(invocation: Invocation): Promise<number> {
  const [name = ""] = invocation.positionals
  const facts = valueOrCliError(await testServer(await openHome(invocation), name, operation(invocation)))
  printServer(facts, invocation)
  return 0
}
