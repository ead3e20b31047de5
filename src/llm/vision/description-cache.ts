import { mkdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import type { Home } from "../../config/home.ts"

const MAX_ENTRIES = 500

/** Returns a stored description, or undefined. Never fails: the file is only a cache. */
export function readImageDescription(home: Home, key: string): string | undefined {
  const entries = readEntries(home)
  return Object.hasOwn(entries, key) ? entries[key] : undefined
}

/** Stores a description and drops the oldest above the limit. Losing one only costs another model call. */
export function saveDescription(home: Home, key: string, text: string): void {
  const { [key]: _previous, ...others } = readEntries(home)
  const newest = [...Object.entries(others), [key, text] as const].slice(-MAX_ENTRIES)
  const path = cachePath(home)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileAtomic(path, JSON.stringify(Object.fromEntries(newest)))
  } catch {
    // A full disk or a read-only home: the session still has the description in memory.
  }
}

function cachePath(home: Home): string {
  return home.file("cache", "image_descriptions.json")
}

function readEntries(home: Home): Readonly<Record<string, string>> {
  try {
    const parsed = parseJson(readFileSync(cachePath(home), "utf8"))
    if (!isRecord(parsed)) return {}
    return Object.fromEntries(
      Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    )
  } catch {
    // Absent or unreadable: the images will be described again.
    return {}
  }
}
