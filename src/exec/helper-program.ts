import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { ellipsize } from "../base/text.ts"
import { commandEnvironment } from "./command-environment.ts"
import { askClient } from "./remote/client-process.ts"

const TIME_LIMIT_MS = 60_000
const MAX_SAID = 200

/**
 * Runs a program that the person's own settings name, for example one that prints credentials, without a shell. Gives what it
 * printed; the failure is the end of a sentence about it. It sees the person's variables, but no key that Hermes keeps. Throws only
 * when the signal aborts.
 */
export async function runHelperProgram(
  words: readonly string[],
  { inherited, signal }: { readonly inherited: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<Result<string>> {
  const environment = commandEnvironment(inherited, { passthrough: Object.keys(inherited), set: {} })
  const done = await askClient(words, { environment, signal, timeoutMs: TIME_LIMIT_MS })
  signal.throwIfAborted()
  if (done.notStarted !== undefined) return fail(`cannot be started: ${done.notStarted}`)
  if (done.ended === "timed-out") return fail(`did not end within ${TIME_LIMIT_MS / 1000} s`)
  if (done.code === 0) return ok(done.stdout.toString("utf8"))
  const said = ellipsize(done.stderr.replaceAll(/\s+/g, " ").trim(), MAX_SAID)
  return fail(`ended with code ${done.code}${said === "" ? "" : ` (${said})`}`)
}
