import { existsSync, rmSync } from "node:fs"
import { dirname } from "node:path"

import { withFileLock } from "../../base/file-lock.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"

/** Removes a memory file, while nobody else writes it. */
export async function forgetMemory(path: string): Promise<Result<undefined>> {
  try {
    if (!existsSync(dirname(path))) return ok(undefined)
    await withFileLock(`${path}.lock`, { waitMs: 5000 }, () => rmSync(path, { force: true }))
    return ok(undefined)
  } catch (error) {
    return fail(`${path} could not be removed: ${explainSystemError(error)}`)
  }
}
