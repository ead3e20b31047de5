import { CliError, type Invocation } from "../../command.ts"
import { loadSettings } from "../../settings-access.ts"
import { fallbackEntries, fallbackLine, writeFallbacks, type FallbackEntry } from "./entries.ts"

/** `hermes fallback remove WHICH` */
export async function run({ positionals, terminal, home, environment: inherited }: Invocation): Promise<number> {
  const { config, environment } = await loadSettings({ home, environment: inherited })
  const entries = fallbackEntries(config)
  const gone = entryNamed(entries, positionals)
  await writeFallbacks(
    { home, environment, config },
    entries.filter((entry) => entry !== gone),
  )
  terminal.line(`No longer tried: ${fallbackLine(gone)}`)
  return 0
}

/** By number, by provider and model, or by either alone where only one entry has it. */
function entryNamed(entries: readonly FallbackEntry[], words: readonly string[]): FallbackEntry {
  const [first = "", second] = words
  const numbered = /^\d+$/.test(first) && second === undefined ? entries[Number(first) - 1] : undefined
  if (numbered !== undefined) return numbered
  const named = entries.filter(({ provider, model }) =>
    second === undefined
      ? [provider, model, `${provider}/${model}`].includes(first)
      : provider === first && model === second,
  )
  const [found] = named
  if (found !== undefined && named.length === 1) return found
  const why = named.length > 1 ? `fits ${named.length} entries; give its number` : "is none of them"
  throw new CliError(`"${words.join(" ")}" ${why}. \`hermes fallback list\` shows them.`, { exitCode: 1 })
}
