import { serveMcp } from "../../../admin/mcp/serve.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { VERSION } from "../../version.ts"
import { openHome } from "./open-home.ts"

/** `hermes mcp serve`. Only protocol messages go to standard output. */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, signal, flags } = invocation
  valueOrCliError(
    await serveMcp(await openHome(invocation), {
      version: VERSION,
      cwd: process.cwd(),
      signal,
      ...(flags.has("verbose") ? { onCall: (tool) => terminal.errLine(tool) } : {}),
    }),
  )
  return 0
}
