import { existsSync, rmSync } from "node:fs"
import { dirname } from "node:path"

import { withFileLock } from "../../base/file-lock.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"

/** Deletes a memory file under its lock. */
export async function deleteMemoryFile(path: string): Promise<Result<undefined>> {
  try {
    if (!existsSync(dirname(path))) return ok(undefined)
    await withFileLock(`${path}.lock`, { waitMs: 5000, sharedWithPython: true }, () => rmSync(path, { force: true }))
    return ok(undefined)
  } catch (error) {
    return fail(`${path} could not be deleted: ${explainSystemError(error)}`)
  }
}
