import { ok, type Result } from "../../base/result.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { fallbackEntries, writeFallbacks, type FallbackEntry } from "./fallback-entries.ts"

/**
 * Removes a fallback, named by its number (from 1), by provider and model, or by one of the two where that is unique. Returns the
 * removed entry.
 */
export async function removeFallback(
  context: HomeContext,
  words: readonly string[],
): Promise<Result<FallbackEntry, AdminFailure>> {
  const home = await loadHome(context)
  const entries = fallbackEntries(home.config)
  const found = findEntry(entries, words)
  if (!found.ok) return found
  const written = await writeFallbacks(
    home,
    entries.filter((entry) => entry !== found.value),
  )
  return written.ok ? found : written
}

/** Removes all fallbacks. */
export async function clearFallbacks(context: HomeContext): Promise<Result<undefined, AdminFailure>> {
  return await writeFallbacks(await loadHome(context), [])
}

function findEntry(entries: readonly FallbackEntry[], words: readonly string[]): Result<FallbackEntry, AdminFailure> {
  const [first = "", second] = words
  const numbered = /^\d+$/.test(first) && second === undefined ? entries[Number(first) - 1] : undefined
  if (numbered !== undefined) return ok(numbered)
  const named = entries.filter(({ provider, model }) =>
    second === undefined
      ? [provider, model, `${provider}/${model}`].includes(first)
      : provider === first && model === second,
  )
  const [found] = named
  if (found !== undefined && named.length === 1) return ok(found)
  const name = words.join(" ")
  return failed(
    named.length > 1
      ? `"${name}" matches ${named.length} fallbacks; use the number that \`hermes fallback list\` shows.`
      : `There is no fallback "${name}". \`hermes fallback list\` shows them.`,
  )
}
