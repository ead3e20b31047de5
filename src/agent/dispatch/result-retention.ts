import { join } from "node:path"

import type { FileSystem } from "../../exec/workspace.ts"
import type { Message } from "../../protocol/message.ts"
import { RESULT_DIRECTORY } from "../../toolkit/result-budget.ts"

const DAY_MS = 86_400_000
const KEEP_DAYS = 7
const MAX_TOTAL_BYTES = 500_000_000

/** Whether a conversation has moved results to files. */
export function hasSpilled(history: readonly Message[]): boolean {
  return history.some(
    ({ role, content }) => role === "tool" && typeof content === "string" && content.includes(`/${RESULT_DIRECTORY}/`),
  )
}

/**
 * Removes result files older than a week and, while all together exceed the size limit, the oldest ones. Files younger than a day
 * always stay, because a running session may read them. Returns the number of removed files.
 */
export async function removeOldResults(files: FileSystem, now: number): Promise<number> {
  const directory = join(await files.temporaryDirectory(), RESULT_DIRECTORY)
  const found: { path: string; size: number; modifiedMs: number }[] = []
  for (const { name, kind } of await files.list(directory)) {
    const path = join(directory, name)
    const facts = kind === "file" && name.endsWith(".txt") ? await files.stat(path) : undefined
    if (facts !== undefined) found.push({ path, size: facts.size, modifiedMs: facts.modifiedMs })
  }
  let bytes = 0
  let removed = 0
  for (const { path, size, modifiedMs } of found.toSorted((a, b) => b.modifiedMs - a.modifiedMs)) {
    bytes += size
    const age = now - modifiedMs
    if (age < DAY_MS || (age < KEEP_DAYS * DAY_MS && bytes <= MAX_TOTAL_BYTES)) continue
    await files.remove(path)
    removed += 1
  }
  return removed
}
