import { errorMessage } from "../base/system-error.ts"
import type { Environment } from "../config/environment.ts"
import { resolveHome } from "../config/home.ts"
import type { Terminal } from "./terminal.ts"

/** Says one sentence about a bug and keeps the stack trace in errors.log. Never throws. */
export async function reportCrash(
  error: unknown,
  options: { readonly terminal: Terminal; readonly environment: Environment },
): Promise<void> {
  const { terminal, environment } = options
  const kept = await keepStack(error, environment)
  terminal.errLine(
    `Hermes stopped because of an internal error: ${errorMessage(error)}.${kept ? " Details: hermes logs errors" : ""}`,
  )
  await terminal.flush()
}

async function keepStack(error: unknown, environment: Environment): Promise<boolean> {
  try {
    const home = resolveHome(environment)
    const { openFileLog } = await import("../base/log-file.ts")
    const { createRedactor } = await import("../base/redact.ts")
    const redactor = createRedactor({ enabled: true, secrets: [] })
    const log = openFileLog({ directory: home.file("logs"), redact: (text) => redactor.redact(text, { force: true }) })
    log.child("cli").error(error instanceof Error ? (error.stack ?? error.message) : String(error))
    return true
  } catch {
    // The log is a convenience here; the sentence on stderr is what must not fail.
    return false
  }
}
