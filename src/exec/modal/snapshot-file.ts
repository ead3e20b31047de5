import { mkdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { isNotFound } from "../../base/system-error.ts"

/** The image that holds a task's files after its last sandbox; undefined for a task that has none. */
export function readSnapshot(file: string, taskId: string): string | undefined {
  const known = readAll(file)[taskId]
  return typeof known === "string" && known !== "" ? known : undefined
}

/** Remembers, or with undefined forgets, a task's image. Other tasks keep theirs. */
export async function rememberSnapshot(file: string, taskId: string, image: string | undefined): Promise<void> {
  mkdirSync(dirname(file), { recursive: true })
  await withFileLock(`${file}.lock`, { waitMs: 10_000 }, () => {
    const others = Object.entries(readAll(file)).filter(([task]) => task !== taskId)
    const all = Object.fromEntries(image === undefined ? others : [...others, [taskId, image]])
    writeFileAtomic(file, `${JSON.stringify(all, undefined, 2)}\n`)
  })
}

function readAll(file: string): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(readFileSync(file, "utf8"))
    return isRecord(value) ? value : {}
  } catch (error) {
    if (isNotFound(error)) return {}
    throw error
  }
}
