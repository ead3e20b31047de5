import { mkdirSync } from "node:fs"
import { dirname } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { secretHex } from "../../base/random-and-hash.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import type { Home } from "../../config/home.ts"

const KEY_BYTES = 16
const MAX_BYTES = 1000

/**
 * The secret that the fences around tool results are derived from. Kept in a file of the home that neither tools nor sandboxed commands read, so
 * that a resumed conversation sends the same bytes. Where it cannot be kept, it lasts as long as the process.
 */
export function readFenceKey(home: Pick<Home, "file">): string {
  const path = home.file(...FENCE_KEY_FILE)
  try {
    const key = readRegularFile(path, { maxBytes: MAX_BYTES }).bytes.toString("utf8").trim()
    if (key.length === KEY_BYTES * 2) return key
  } catch {
    // There is none yet.
  }
  const key = secretHex(KEY_BYTES)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileAtomic(path, `${key}\n`)
  } catch {
    // A read-only home: the next process has another key, which costs a cached prefix at most.
  }
  return key
}

const FENCE_KEY_FILE = ["cache", "fence-key"] as const
