import { AsyncLocalStorage } from "node:async_hooks"
import { systemClock, type Clock } from "./clock.ts"
import { formatLogLine, isAtLeast, type LogLevel } from "./log-line.ts"

/** Logs what a part of the program does. Never throws and never waits. */
export interface Logger {
  debug(message: string): void
  info(message: string): void
  warning(message: string): void
  error(message: string): void
  /** A logger with a longer name: `agent` → `agent.loop`. */
  child(logger: string): Logger
}

/** Writes finished, redacted lines (without newline) of its level and above. Must not throw. */
export interface LogSink {
  readonly level: LogLevel
  write(line: string): void
}

/** The session that lines belong to. After a change of `id`, later lines carry the new one. */
export interface LogSession {
  id: string
}

export function createLogger(options: {
  readonly sinks: readonly LogSink[]
  readonly redact: (text: string) => string
  readonly clock?: Clock
  readonly logger?: string
}): Logger {
  const { sinks, redact, clock = systemClock, logger = "hermes" } = options
  const write = (level: LogLevel, message: string): void => {
    const interested = sinks.filter((sink) => isAtLeast(level, sink.level))
    if (interested.length === 0) return
    const line = redact(formatLogLine({ time: clock.now(), level, session: sessions.getStore()?.id, logger, message }))
    for (const sink of interested) sink.write(line)
  }
  return {
    debug: (message) => write("DEBUG", message),
    info: (message) => write("INFO", message),
    warning: (message) => write("WARNING", message),
    error: (message) => write("ERROR", message),
    child: (name) =>
      createLogger({ ...options, logger: options.logger === undefined ? name : `${options.logger}.${name}` }),
  }
}

/** Logs everything that `work` does, including asynchronously, under this session. */
export function inLogSession<T>(session: LogSession, work: () => T): T {
  return sessions.run(session, work)
}

/** The session of the current asynchronous call chain. */
const sessions = new AsyncLocalStorage<LogSession>()
