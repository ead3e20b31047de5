import { createFileLogger } from "../base/file-logger.ts"
import type { Logger } from "../base/logger.ts"
import { createRedactor } from "../base/redact.ts"
import type { Home } from "../config/home.ts"

/** The log of a command that runs no agent. Nothing is written, and no file made, unless there is something to say. */
export function openCommandLog(home: Home): Logger {
  const redactor = createRedactor({ enabled: true, secrets: [] })
  return createFileLogger({ directory: home.file("logs"), redact: (text) => redactor.redact(text) }).child("cli")
}
