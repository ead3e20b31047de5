/** In rising severity, as both editions write them. */
export const LOG_LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface LogEntry {
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly level: LogLevel
  readonly session: string | undefined
  readonly logger: string
  readonly message: string
}

export function isAtLeast(level: LogLevel, threshold: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(threshold)
}

/**
 * `YYYY-MM-DD HH:MM:SS,mmm LEVEL[ [session_id]] logger: message` in local time, without the final newline. Both editions
 * parse this. Further lines of a message follow unchanged, except that none may look like the start of an entry.
 */
export function formatLogLine(entry: LogEntry): string {
  const session = entry.session === undefined ? "" : ` [${entry.session}]`
  const message = entry.message.replace(/\s+$/, "").replaceAll(/\n(?=\d{4}-\d\d-\d\d )/g, "\n  ")
  return `${localTime(entry.time)} ${entry.level}${session} ${entry.logger}: ${message}`
}

/** Parses the first line of an entry; undefined for a continuation line. */
export function parseLogLine(line: string): LogEntry | undefined {
  const parts = LINE.exec(line)
  if (parts === null) return undefined
  const [, date = "", time = "", milliseconds = "0", levelName, session, logger = "", message = ""] = parts
  const level = LOG_LEVELS.find((candidate) => candidate === levelName)
  if (level === undefined) return undefined
  return { time: new Date(`${date}T${time}.${milliseconds}`).getTime(), level, session, logger, message }
}

const LINE = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d),(\d{3}) ([A-Z]+)(?: \[([^\]]*)\])? ([^\s:]+): ?(.*)$/

function localTime(time: number): string {
  const date = new Date(time)
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  return `${day} ${clock},${String(date.getMilliseconds()).padStart(3, "0")}`
}

function two(value: number): string {
  return String(value).padStart(2, "0")
}
