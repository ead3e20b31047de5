import { readFileSync } from "node:fs"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Home } from "../../config/home.ts"

/** What servers said about their windows, by `model@address`. The Python edition reads and writes the same file. */
export type WindowCache = ReadonlyMap<string, number>

/** Never fails: a cache that cannot be read is an empty one. */
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
  place: { readonly model: string; readonly baseUrl: string },
): number | undefined {
  return cache.get(keyOf(place))
}

/** Remembers what a server said. Throws the system error; forgetting is harmless, so callers may go on. */
export function rememberWindow(
  home: Home,
  place: { readonly model: string; readonly baseUrl: string; readonly tokens: number },
): void {
  const entries = new Map(readWindowCache(home)).set(keyOf(place), place.tokens)
  const lines = [...entries]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, tokens]) => `  ${JSON.stringify(key)}: ${tokens}\n`)
  writeFileAtomic(home.file("context_length_cache.yaml"), `context_lengths:\n${lines.join("")}`)
}

function keyOf({ model, baseUrl }: { readonly model: string; readonly baseUrl: string }): string {
  return `${model}@${baseUrl}`
}

/** The file is a flat list of numbers, so reading it does not need the YAML library. */
function textOf(home: Home): string {
  try {
    return readFileSync(home.file("context_length_cache.yaml"), "utf8")
  } catch {
    // Absent or unreadable, nothing is remembered; a start must not depend on this file.
    return ""
  }
}

/** Both editions quote keys that hold special characters, each in its own way. */
function unquoted(key: string): string {
  if (key.startsWith("'") && key.endsWith("'") && key.length > 1) return key.slice(1, -1).replaceAll("''", "'")
  return key.startsWith('"') && key.endsWith('"') && key.length > 1
    ? key.slice(1, -1).replaceAll('\\"', '"').replaceAll("\\\\", "\\")
    : key
}
