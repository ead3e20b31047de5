import type { Invocation } from "../../command.ts"
import { printJson } from "../../json-output.ts"
import { loadSettings } from "../../settings-access.ts"
import { oneLine } from "../../text-layout.ts"
import { fallbackEntries, fallbackLine } from "./entries.ts"

/** `hermes fallback [list]` */
export async function run({ flags, terminal, home, environment }: Invocation): Promise<number> {
  const { config } = await loadSettings({ home, environment })
  const entries = fallbackEntries(config)
  if (flags.has("json")) {
    printJson(
      terminal,
      entries.map(({ provider, model, baseUrl }) => ({ provider, model, base_url: baseUrl === "" ? null : baseUrl })),
    )
    return 0
  }
  if (entries.length === 0) {
    terminal.line("Nothing is tried when the provider fails. Add something with: hermes fallback add PROVIDER MODEL")
    return 0
  }
  for (const [index, entry] of entries.entries()) terminal.line(`${index + 1}. ${oneLine(fallbackLine(entry))}`)
  return 0
}
