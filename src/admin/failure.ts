import { fail } from "../base/result.ts"
import type { Refusal } from "../config/managed-home.ts"

/** Why an operation was not carried out. Nothing has been changed then, unless the operation says otherwise. */
export type AdminFailure = Refusal

export function invalid(message: string): { readonly ok: false; readonly error: AdminFailure } {
  return fail({ kind: "invalid", message })
}

export function failed(message: string): { readonly ok: false; readonly error: AdminFailure } {
  return fail({ kind: "failed", message })
}
