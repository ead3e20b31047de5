import { mkdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { isNotFound } from "../../base/system-error.ts"

/** Returns the snapshot image with the files of a task's last sandbox; undefined when there is none. */
export function readSnapshot(file: string, taskId: string): string | undefined {
  const known = readAll(file)[taskId]
  return typeof known === "string" && known !== "" ? known : undefined
}

/** Records a task's snapshot image. Other tasks keep theirs. */
export async function recordSnapshot(file: string, taskId: string, image: string): Promise<void> {
  mkdirSync(dirname(file), { recursive: true })
  await withFileLock(`${file}.lock`, { waitMs: 10_000 }, () => {
    writeFileAtomic(file, `${JSON.stringify({ ...readAll(file), [taskId]: image }, undefined, 2)}\n`)
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
