import { listFallbacks } from "../../../admin/fallbacks/fallback-entries.ts"
import { clearFallbacks } from "../../../admin/fallbacks/remove-fallback.ts"
import { counted } from "../../../base/counted.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { confirmed } from "../../terminal/confirmation.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes fallback clear` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const context = homeContext(invocation)
  const { length } = await listFallbacks(context)
  if (length === 0) {
    terminal.line("There is nothing to clear.")
    return 0
  }
  const all = counted(length, "fallback provider")
  const sure = await confirmed(`Remove ${all}? [y/N] `, { terminal, assumed: flags.has("yes"), flag: "--yes" })
  if (!sure) {
    terminal.line("Nothing was changed.")
    return 1
  }
  valueOrCliError(await clearFallbacks(context))
  terminal.line(`Removed ${all}.`)
  return 0
}
