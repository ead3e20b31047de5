import type { Invocation } from "../../command.ts"
import { confirmed } from "../../confirmation.ts"
import { loadSettings } from "../../settings-access.ts"
import { counted } from "../../text-layout.ts"
import { fallbackEntries, writeFallbacks } from "./entries.ts"

/** `hermes fallback clear` */
export async function run({ flags, terminal, home, environment: inherited }: Invocation): Promise<number> {
  const { config, environment } = await loadSettings({ home, environment: inherited })
  const entries = fallbackEntries(config)
  if (entries.length === 0) {
    terminal.line("There is nothing to clear.")
    return 0
  }
  const all = counted(entries.length, "fallback provider")
  const sure = await confirmed(`Remove ${all}? [y/N] `, { terminal, assumed: flags.has("yes"), flag: "--yes" })
  if (!sure) {
    terminal.line("Nothing was changed.")
    return 1
  }
  await writeFallbacks({ home, environment, config }, [])
  terminal.line(`Removed ${all}.`)
  return 0
}
