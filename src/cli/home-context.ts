import type { HomeContext } from "../admin/home-context.ts"
import { systemClock } from "../base/clock.ts"
import { createFileLogger } from "../base/file-logger.ts"
import type { Logger } from "../base/logger.ts"
import { createRedactor } from "../base/redact.ts"
import type { Home } from "../config/home.ts"
import type { Invocation } from "./command.ts"
import { createOperationProgress } from "../terminal/operation-progress.ts"

/** The context that a command passes to the operations of `admin`. */
export function homeContext({
  home,
  environment,
  terminal,
}: Pick<Invocation, "home" | "environment" | "terminal">): HomeContext {
  const notify = (sentence: string): void => terminal.errLine(sentence)
  const progress = createOperationProgress(terminal, () => systemClock.now())
  const log = createCommandLogger(home)
  return { home, environment, clock: systemClock, log, notify, ...(progress !== undefined && { progress }) }
}

/** The logger of a command that runs no agent. It creates no file until it writes a line. */
function createCommandLogger(home: Home): Logger {
  const redactor = createRedactor({ enabled: true, secrets: [] })
  return createFileLogger({ directory: home.file("logs"), redact: (text) => redactor.redact(text) }).child("cli")
}
