import { errorCode, explainSystemError } from "../base/system-error.ts"
import { FileLockError } from "../base/file-lock.ts"
import { HomeError } from "../config/home.ts"
import { StoreError } from "../state/store.ts"

/** A failure of the machine that a person can mend, in one sentence; undefined for anything that is a bug. */
export function explainFailure(error: unknown): string | undefined {
  if (error instanceof StoreError || error instanceof HomeError || error instanceof FileLockError) return error.message
  if (!(error instanceof Error) || errorCode(error) === undefined || !("syscall" in error)) return undefined
  const place = "path" in error && typeof error.path === "string" ? `Cannot use ${error.path}: ` : ""
  return `${place}${explainSystemError(error)}`
}
