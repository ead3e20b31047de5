import { readFileSync } from "node:fs"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Home } from "../../config/home.ts"

/** Context windows that servers reported, by `model@baseUrl`. The Python edition uses the same file. */
export type WindowCache = ReadonlyMap<string, number>

/** Never throws: an unreadable cache counts as empty. */
export function readWindowCache(home: Home): WindowCache {
  const found = new Map<string, number>()
  for (const line of textOf(home).split("\n")) {
    const [, key = "", tokens = ""] = /^\s+(\S.*?)\s*:\s+(\d+)\s*$/.exec(line) ?? []
    if (key !== "") found.set(unquoted(key), Number(tokens))
  }
  return found
}

export function cachedWindow(
  cache: WindowCache,
  entry: { readonly model: string; readonly baseUrl: string },
): number | undefined {
  return cache.get(keyOf(entry))
}

/** Stores a window. Throws the system error; callers may ignore it, because the server reports the window again. */
export function rememberWindow(
  home: Home,
  entry: { readonly model: string; readonly baseUrl: string; readonly tokens: number },
): void {
  const entries = new Map(readWindowCache(home)).set(keyOf(entry), entry.tokens)
  const lines = [...entries]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, tokens]) => `  ${JSON.stringify(key)}: ${tokens}\n`)
  writeFileAtomic(home.file("context_length_cache.yaml"), `context_lengths:\n${lines.join("")}`)
}

function keyOf({ model, baseUrl }: { readonly model: string; readonly baseUrl: string }): string {
  return `${model}@${baseUrl}`
}

/** The file is a flat list of numbers, so it is parsed without the YAML library. */
function textOf(home: Home): string {
  try {
    return readFileSync(home.file("context_length_cache.yaml"), "utf8")
  } catch {
    // Absent or unreadable: start-up must not depend on this file.
    return ""
  }
}

/** Both editions quote keys with special characters, but differently. */
function unquoted(key: string): string {
  if (key.startsWith("'") && key.endsWith("'") && key.length > 1) return key.slice(1, -1).replaceAll("''", "'")
  return key.startsWith('"') && key.endsWith('"') && key.length > 1
    ? key.slice(1, -1).replaceAll('\\"', '"').replaceAll("\\\\", "\\")
    : key
}
