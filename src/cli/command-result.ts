import type { AdminFailure } from "../admin/failure.ts"
import type { Result } from "../base/result.ts"
import { CliError } from "./command.ts"

const EXIT_CODES = { failed: 1, invalid: 2 } as const satisfies Record<AdminFailure["kind"], number>

/** Returns the value of an operation. Throws a `CliError` with the message of its failure. */
export function valueOrCliError<T>(result: Result<T, AdminFailure>): T {
  if (result.ok) return result.value
  throw new CliError(result.error.message, { exitCode: EXIT_CODES[result.error.kind] })
}
