import { addFallback } from "../../../admin/fallbacks/add-fallback.ts"
import { fallbackText } from "../../../admin/fallbacks/fallback-entries.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { fallbackJson } from "./fallback-json.ts"
import { printJson } from "../../terminal/json-output.ts"

/** `hermes fallback add PROVIDER MODEL` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal } = invocation
  const [provider = "", model = ""] = positionals
  const added = await addFallback(homeContext(invocation), {
    provider,
    model,
    baseUrl: flags.text("base-url"),
    keyVariable: flags.text("key-env"),
    apiMode: flags.text("api-mode"),
  })
  const { number, entry } = valueOrCliError(added)
  if (flags.has("json")) printJson(terminal, { number, ...fallbackJson(entry) })
  else terminal.line(`${number}. ${fallbackText(entry)}`)
  return 0
}
