import { fail, type Result } from "../base/result.ts"
import type { Refusal } from "../config/managed.ts"

/** Why an operation was not carried out. Nothing has been changed then, unless the operation says otherwise. */
export interface AdminFailure {
  /** `invalid`: the request itself is wrong. `failed`: the request is correct, but the home or the machine does not allow it. */
  readonly kind: "invalid" | "failed"
  readonly message: string
}

export function invalid(message: string): { readonly ok: false; readonly error: AdminFailure } {
  return fail({ kind: "invalid", message })
}

export function failed(message: string): { readonly ok: false; readonly error: AdminFailure } {
  return fail({ kind: "failed", message })
}

/** Translates the result of a configuration edit, whose refusals carry exit codes. */
export function adminResult<T>(result: Result<T, Refusal>): Result<T, AdminFailure> {
  if (result.ok) return result
  return result.error.exitCode === 2 ? invalid(result.error.message) : failed(result.error.message)
}
