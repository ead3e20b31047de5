import { mkdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import type { Home } from "../../config/home.ts"

const MAX_ENTRIES = 500

/** What was said about an image before; undefined when nobody asked. Never fails: the file is disposable. */
export function readDescription(home: Home, key: string): string | undefined {
  const entries = readEntries(home)
  return Object.hasOwn(entries, key) ? entries[key] : undefined
}

/** Keeps the newest ones. Forgetting is harmless beyond the price of asking again. */
export function keepDescription(home: Home, key: string, text: string): void {
  const { [key]: _older, ...others } = readEntries(home)
  const newest = [...Object.entries(others), [key, text] as const].slice(-MAX_ENTRIES)
  const path = pathOf(home)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileAtomic(path, JSON.stringify(Object.fromEntries(newest)))
  } catch {
    // A full disk or a home that cannot be written to: the session remembers it by itself.
  }
}

function pathOf(home: Home): string {
  return home.file("cache", "image_descriptions.json")
}

function readEntries(home: Home): Readonly<Record<string, string>> {
  try {
    const parsed = parseJson(readFileSync(pathOf(home), "utf8"))
    if (!isRecord(parsed)) return {}
    return Object.fromEntries(
      Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    )
  } catch {
    // Absent or unreadable: the images are described again when they are sent.
    return {}
  }
}
