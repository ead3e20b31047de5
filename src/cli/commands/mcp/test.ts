import { testServer } from "../../../admin/mcp/test-server.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { openHome, operation } from "./open-home.ts"
import { heldToolsAdvice, printServer } from "./print-server.ts"

/** `hermes mcp test NAME`. A tool that is blocked or quarantined cannot be called, so the test fails. */
export async function run(invocation: Invocation): Promise<number> {
  const [name = ""] = invocation.positionals
  const facts = valueOrCliError(await testServer(await openHome(invocation), name, operation(invocation)))
  printServer(facts, invocation)
  const advice = heldToolsAdvice(facts)
  if (advice === undefined) return 0
  invocation.terminal.errLine(advice)
  return 1
}
