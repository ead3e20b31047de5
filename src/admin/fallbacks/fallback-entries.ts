import { isRecord } from "../../base/json.ts"
import type { Result } from "../../base/result.ts"
import { editConfig } from "../../config/edit-config.ts"
import type { Config } from "../../config/load-config.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome, type LoadedHome } from "../loaded-home.ts"

/** One entry of `fallback_providers`. */
export interface FallbackEntry {
  readonly provider: string
  readonly model: string
  readonly baseUrl: string
  /** The whole entry of the file, with the fields that are not read here. */
  readonly written: Readonly<Record<string, unknown>>
}

export async function listFallbacks(context: HomeContext): Promise<readonly FallbackEntry[]> {
  return fallbackEntries((await loadHome(context)).config)
}

/** Returns the fallbacks in the order in which they are tried; those of the older `fallback_model` come last. Skips malformed entries. */
export function fallbackEntries(config: Config): readonly FallbackEntry[] {
  const { fallback_providers: list, fallback_model: older } = config.user()
  return [...asList(list), ...asList(older)].flatMap((written) => {
    if (!isRecord(written)) return []
    const field = (name: string): string => {
      const value = written[name]
      return typeof value === "string" ? value : ""
    }
    const entry = { provider: field("provider"), model: field("model"), baseUrl: field("base_url"), written }
    return entry.provider === "" || entry.model === "" ? [] : [entry]
  })
}

/** Writes the whole list to `fallback_providers` and removes the older `fallback_model`. */
export async function writeFallbacks(
  home: LoadedHome,
  entries: readonly FallbackEntry[],
): Promise<Result<undefined, AdminFailure>> {
  const written = home.config.user()
  const path = "fallback_providers"
  return await editConfig(home, [
    ...(entries.length > 0
      ? [{ path, value: entries.map((entry) => entry.written) }]
      : Object.hasOwn(written, path)
        ? [{ path, remove: true as const }]
        : []),
    ...(Object.hasOwn(written, "fallback_model") ? [{ path: "fallback_model", remove: true as const }] : []),
  ])
}

export function fallbackText({ provider, model, baseUrl }: FallbackEntry): string {
  return `${provider}  ${model}${baseUrl === "" ? "" : `  ${baseUrl}`}`
}

function asList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return isRecord(value) && Object.keys(value).length > 0 ? [value] : []
}
