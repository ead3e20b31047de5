import type { FallbackEntry } from "../../../admin/fallbacks/fallback-entries.ts"

/** A fallback provider with `--json`, without its key. */
export function fallbackJson({ provider, model, baseUrl }: FallbackEntry): object {
  return { provider, model, base_url: baseUrl === "" ? null : baseUrl }
}
