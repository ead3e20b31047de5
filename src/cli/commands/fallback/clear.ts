import { listFallbacks } from "../../../admin/fallbacks/fallback-entries.ts"
import { clearFallbacks } from "../../../admin/fallbacks/remove-fallback.ts"
import { counted } from "../../../base/counted.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { confirmed } from "../../terminal/confirmation.ts"
import { homeContext } from "../../home-context.ts"
import { fallbackJson } from "./fallback-json.ts"
import { printJson } from "../../terminal/json-output.ts"

/** `hermes fallback clear` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const context = homeContext(invocation)
  const entries = await listFallbacks(context)
  if (entries.length === 0) {
    if (flags.has("json")) printJson(terminal, { removed: [] })
    else terminal.line("There is nothing to clear.")
    return 0
  }
  const all = counted(entries.length, "fallback provider")
  const sure = await confirmed(`Remove ${all}?`, { terminal, assumed: flags.has("yes") })
  if (!sure) {
    terminal.line("Nothing was changed.")
    return 1
  }
  valueOrCliError(await clearFallbacks(context))
  if (flags.has("json")) printJson(terminal, { removed: entries.map(fallbackJson) })
  else terminal.line(`Removed ${all}.`)
  return 0
}
