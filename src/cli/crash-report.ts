import { errorMessage } from "../base/system-error.ts"
import type { Environment } from "../config/environment.ts"
import { resolveHome } from "../config/home.ts"
import { asSentence } from "../base/sentence.ts"
import type { Terminal } from "../terminal/terminal.ts"

/** Prints one sentence about a bug and writes the stack trace to errors.log, both without secrets. */
export async function reportCrash(
  error: unknown,
  options: { readonly terminal: Terminal; readonly environment: Environment },
): Promise<void> {
  const { terminal, environment } = options
  const { createRedactor } = await import("../base/redact.ts")
  const { createFileLogger } = await import("../base/file-logger.ts")
  const redactor = createRedactor({ enabled: true, secrets: [] })
  const redact = (text: string): string => redactor.redact(text, { force: true })
  const log = createFileLogger({ directory: resolveHome(environment).file("logs"), redact })
  log.child("cli").error(error instanceof Error ? (error.stack ?? error.message) : String(error))
  const sentence = asSentence(`Hermes stopped because of an internal error: ${redact(errorMessage(error))}`)
  terminal.errLine(`${sentence} Details: hermes logs errors`)
  await terminal.flush()
}
