import { mkdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { parseJson } from "../../base/json.ts"
import type { Home } from "../../config/home.ts"

const MAX_ENTRIES = 500

/** The keys of images that a model refused. Never fails: the file is only a cache. */
export function readImageRefusals(home: Home): ReadonlySet<string> {
  try {
    const parsed = parseJson(readFileSync(cachePath(home), "utf8"))
    return new Set(Array.isArray(parsed) ? parsed.filter((key) => typeof key === "string") : [])
  } catch {
    // Absent or unreadable: the server refuses the images once more.
    return new Set()
  }
}

/** Stores keys and drops the oldest above the limit. */
export function saveImageRefusals(home: Home, keys: readonly string[]): void {
  const newest = [...new Set([...readImageRefusals(home), ...keys])].slice(-MAX_ENTRIES)
  const path = cachePath(home)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileAtomic(path, JSON.stringify(newest))
  } catch {
    // A full disk or a read-only home: this session remembers the refusal in memory.
  }
}

function cachePath(home: Home): string {
  return home.file("cache", "image_refusals.json")
}
