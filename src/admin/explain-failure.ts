import { FileLockError } from "../base/file-lock.ts"
import { errorCode, explainSystemError } from "../base/system-error.ts"
import { HomeError } from "../config/home.ts"
import { StoreError } from "../state/store.ts"

/** Explains in one sentence a failure that the user can fix, such as a full disk or a lock. Undefined for bugs. */
export function explainFailure(error: unknown): string | undefined {
  if (error instanceof StoreError || error instanceof HomeError || error instanceof FileLockError) return error.message
  if (!(error instanceof Error) || errorCode(error) === undefined || !("syscall" in error)) return undefined
  const subject = "path" in error && typeof error.path === "string" ? `Cannot use ${error.path}: ` : ""
  return `${subject}${explainSystemError(error)}`
}
