import { fallbackText, listFallbacks } from "../../../admin/fallbacks/fallback-entries.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { fallbackJson } from "./fallback-json.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes fallback [list]` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const entries = await listFallbacks(homeContext(invocation))
  if (flags.has("json")) {
    printJson(terminal, entries.map(fallbackJson))
    return 0
  }
  if (entries.length === 0) {
    terminal.line("There are no fallback providers. Add one with: hermes fallback add PROVIDER MODEL")
    return 0
  }
  for (const [index, entry] of entries.entries()) terminal.line(`${index + 1}. ${oneLine(fallbackText(entry))}`)
  return 0
}
