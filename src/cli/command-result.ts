import type { AdminFailure } from "../admin/failure.ts"
import type { Result } from "../base/result.ts"
import type { Refusal } from "../config/managed.ts"
import { CliError } from "./command.ts"

const EXIT_CODES = { failed: 1, invalid: 2 } as const satisfies Record<AdminFailure["kind"], number>

/** Returns the value of an operation. Throws a `CliError` with the message of its failure. */
export function valueOrCliError<T>(result: Result<T, AdminFailure | Refusal>): T {
  if (result.ok) return result.value
  const { error } = result
  throw new CliError(error.message, { exitCode: "exitCode" in error ? error.exitCode : EXIT_CODES[error.kind] })
}
