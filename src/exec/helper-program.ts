import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { ellipsize } from "../base/text.ts"
import { commandEnvironment } from "./command-environment.ts"
import { runProgram } from "./run-program.ts"

const TIME_LIMIT_MS = 60_000
const MAX_STDERR_CHARS = 200

/**
 * Runs a program from the user's settings, for example a credential helper, without a shell and returns its stdout. The program sees the
 * user's environment without Hermes' own credentials. The error completes a sentence that starts with the program's name. Throws only
 * when the signal aborts.
 */
export async function runHelperProgram(
  words: readonly string[],
  { inherited, signal }: { readonly inherited: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<Result<string>> {
  const environment = commandEnvironment(inherited, { passthrough: Object.keys(inherited), set: {} })
  const result = await runProgram(words, { environment, signal, timeoutMs: TIME_LIMIT_MS })
  signal.throwIfAborted()
  if (result.notStarted !== undefined) return fail(`cannot be started: ${result.notStarted}`)
  if (result.ended === "timed-out") return fail(`did not exit within ${TIME_LIMIT_MS / 1000} s`)
  if (result.code === 0) return ok(result.stdout.toString("utf8"))
  const message = ellipsize(result.stderr.replaceAll(/\s+/g, " ").trim(), MAX_STDERR_CHARS)
  return fail(`exited with code ${result.code}${message === "" ? "" : ` (${message})`}`)
}
