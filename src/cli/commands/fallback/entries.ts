import { isRecord } from "../../../base/json.ts"
import { editConfig, type EditContext } from "../../../config/edit.ts"
import type { Config } from "../../../config/load.ts"
import { granted } from "../../settings-access.ts"

/** One line of `fallback_providers`, as it stands in the file. */
export interface FallbackEntry {
  readonly provider: string
  readonly model: string
  readonly baseUrl: string
  /** The entry with everything else in it. */
  readonly written: Readonly<Record<string, unknown>>
}

/** What is tried, in order; entries of the older `fallback_model` come last. Anything that is no entry is left out. */
export function fallbackEntries(config: Config): readonly FallbackEntry[] {
  const { fallback_providers: list, fallback_model: older } = config.user()
  const all: readonly unknown[] = [...asList(list), ...asList(older)]
  return all.flatMap((written) => {
    if (!isRecord(written)) return []
    const field = (name: string): string => {
      const value = written[name]
      return typeof value === "string" ? value : ""
    }
    const entry = { provider: field("provider"), model: field("model"), baseUrl: field("base_url"), written }
    return entry.provider === "" || entry.model === "" ? [] : [entry]
  })
}

/** Writes the whole list; the older key is folded into it. */
export async function writeFallbacks(
  context: EditContext & { readonly config: Config },
  entries: readonly FallbackEntry[],
): Promise<void> {
  const written = context.config.user()
  const path = "fallback_providers"
  granted(
    await editConfig(context, [
      ...(entries.length > 0
        ? [{ path, value: entries.map((entry) => entry.written) }]
        : Object.hasOwn(written, path)
          ? [{ path, remove: true as const }]
          : []),
      ...(Object.hasOwn(written, "fallback_model") ? [{ path: "fallback_model", remove: true as const }] : []),
    ]),
  )
}

export function sameFallback(a: Omit<FallbackEntry, "written">, b: Omit<FallbackEntry, "written">): boolean {
  return a.provider === b.provider && a.model === b.model && a.baseUrl === b.baseUrl
}

export function fallbackLine({ provider, model, baseUrl }: FallbackEntry): string {
  return `${provider}  ${model}${baseUrl === "" ? "" : `  ${baseUrl}`}`
}

function asList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return isRecord(value) && Object.keys(value).length > 0 ? [value] : []
}
