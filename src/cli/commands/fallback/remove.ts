import { fallbackText } from "../../../admin/fallbacks/fallback-entries.ts"
import { removeFallback } from "../../../admin/fallbacks/remove-fallback.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { fallbackJson } from "./fallback-json.ts"
import { printJson } from "../../terminal/json-output.ts"

/** `hermes fallback remove WHICH` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal } = invocation
  const removed = valueOrCliError(await removeFallback(homeContext(invocation), positionals))
  if (flags.has("json")) printJson(terminal, { removed: [fallbackJson(removed)] })
  else terminal.line(`Removed ${fallbackText(removed)}`)
  return 0
}
