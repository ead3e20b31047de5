import { isRecord } from "../../../base/json.ts"
import { nearest } from "../../../base/nearest.ts"
import { ensureHome } from "../../../config/home.ts"
import type { Config } from "../../../config/load.ts"
import { modelNameFor } from "../../../llm/catalog/model-names.ts"
import { findProvider, PROVIDERS } from "../../../llm/providers.ts"
import { CliError, type Invocation } from "../../command.ts"
import { loadSettings } from "../../settings-access.ts"
import { fallbackEntries, fallbackLine, sameFallback, writeFallbacks, type FallbackEntry } from "./entries.ts"

/** `hermes fallback add PROVIDER MODEL` */
export async function run({ flags, positionals, terminal, home, environment: inherited }: Invocation): Promise<number> {
  ensureHome(home, inherited)
  const { config, environment } = await loadSettings({ home, environment: inherited })
  const [named = "", typed = ""] = positionals
  const provider = checkedProvider(named, config)
  const known = findProvider(provider)
  const model = known === undefined ? typed : modelNameFor(known, typed)
  const baseUrl = checkedAddress(flags.text("base-url"))
  const entry: FallbackEntry = {
    provider,
    model,
    baseUrl,
    written: {
      provider,
      model,
      ...(baseUrl === "" ? {} : { base_url: baseUrl }),
      ...optional("key_env", flags.text("key-env")),
      ...optional("api_mode", flags.text("api-mode")),
    },
  }
  const entries = fallbackEntries(config)
  if (entries.some((other) => sameFallback(other, entry))) {
    throw new CliError(`That one is tried already: ${fallbackLine(entry)}`, { exitCode: 1 })
  }
  await writeFallbacks({ home, environment, config }, [...entries, entry])
  terminal.line(`${entries.length + 1}. ${fallbackLine(entry)}`)
  return 0
}

/** A provider of the table under its id, or one of the person's own under its name. */
function checkedProvider(named: string, config: Config): string {
  const own = config.get("providers")
  const bare = named.startsWith("custom:") ? named.slice("custom:".length) : named
  if (Object.hasOwn(own, bare) && isRecord(own[bare])) return named
  if (named.toLowerCase() === "demo") {
    throw new CliError("The demo model cannot stand in for a real one.", { exitCode: 2 })
  }
  const known = findProvider(named)
  if (known !== undefined) return known.id
  const names = [...PROVIDERS.map(({ id }) => id), ...Object.keys(own)]
  const close = nearest(named, names)
  const hint = close === undefined ? `. Known: ${names.join(", ")}` : `; did you mean ${close}?`
  throw new CliError(`There is no provider "${named}"${hint}`, { exitCode: 2 })
}

function checkedAddress(address: string | undefined): string {
  if (address === undefined || address === "") return ""
  if (URL.canParse(address) && /^https?:\/\/[^/]/.test(address)) return address.replace(/\/+$/, "")
  throw new CliError(`"${address}" is not an http(s) address.`, { exitCode: 2 })
}

function optional(key: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined || value === "" ? {} : { [key]: value }
}
