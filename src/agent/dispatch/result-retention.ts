import { join } from "node:path"

import type { FileSystem } from "../../exec/workspace.ts"
import type { Message } from "../../protocol/message.ts"
import { RESULT_FOLDER } from "../../toolkit/result-budget.ts"

const DAY_MS = 86_400_000
const KEEP_DAYS = 7
const MOST_BYTES = 500_000_000

/** Whether a conversation has put results into files: only then is there a reason to look. */
export function hasSpilled(history: readonly Message[]): boolean {
  return history.some(
    ({ role, content }) => role === "tool" && typeof content === "string" && content.includes(`/${RESULT_FOLDER}/`),
  )
}

/**
 * Removes result files that nobody will look up any more: those older than a week and, where all of them together take too much
 * room, the oldest. What is younger than a day always stays, since a session may be in the middle of reading it.
 */
export async function removeOldResults(files: FileSystem, now: number): Promise<number> {
  const folder = join(await files.temporaryDirectory(), RESULT_FOLDER)
  const found: { path: string; size: number; modifiedMs: number }[] = []
  for (const { name, kind } of await files.list(folder)) {
    const path = join(folder, name)
    const facts = kind === "file" && name.endsWith(".txt") ? await files.stat(path) : undefined
    if (facts !== undefined) found.push({ path, size: facts.size, modifiedMs: facts.modifiedMs })
  }
  let bytes = 0
  let removed = 0
  for (const { path, size, modifiedMs } of found.toSorted((a, b) => b.modifiedMs - a.modifiedMs)) {
    bytes += size
    const age = now - modifiedMs
    if (age < DAY_MS || (age < KEEP_DAYS * DAY_MS && bytes <= MOST_BYTES)) continue
    await files.remove(path)
    removed += 1
  }
  return removed
}
