import { fail, ok, type Result } from "../../base/result.ts"
import { isAtLeast, LOG_LEVELS, parseLogLine, type LogEntry, type LogLevel } from "../../base/log-line.ts"

export interface LogFilter {
  readonly level?: LogLevel
  readonly session?: string
  /** Milliseconds since the epoch. */
  readonly since?: number
  /** Logger names that belong to the component. */
  readonly loggers?: readonly string[]
}

/** Logger names of both editions by component. */
const COMPONENTS: Readonly<Record<string, readonly string[]>> = {
  gateway: ["gateway"],
  agent: ["agent", "app", "llm", "state", "knowledge", "policy", "run_agent", "model_tools", "batch"],
  tools: ["tools", "toolkit", "exec", "mcp"],
  cli: ["cli", "tui", "commands", "config", "hermes_cli"],
  cron: ["cron", "kanban"],
  gui: ["gui", "server", "dashboard", "web"],
}

export function readLogFilter(options: {
  readonly level: string | undefined
  readonly session: string | undefined
  readonly since: string | undefined
  readonly component: string | undefined
  readonly now: number
}): Result<LogFilter> {
  const { level: levelName, session, since: age, component, now } = options
  const level = LOG_LEVELS.find((name) => name === levelName?.toUpperCase())
  if (levelName !== undefined && level === undefined) {
    return fail(`\`${levelName}\` is not a level; use one of ${LOG_LEVELS.join(", ")}.`)
  }
  const since = age === undefined ? undefined : parseAge(age)
  if (age !== undefined && since === undefined) return fail(`\`${age}\` is not an age; write 45s, 30m, 2h or 1d.`)
  const loggers = component === undefined ? undefined : COMPONENTS[component.toLowerCase()]
  if (component !== undefined && loggers === undefined) {
    return fail(`\`${component}\` is not a component; use one of ${Object.keys(COMPONENTS).join(", ")}.`)
  }
  return ok({
    ...(level && { level }),
    ...(session && { session }),
    ...(since !== undefined && { since: now - since }),
    ...(loggers && { loggers }),
  })
}

/** Whether the entry that a line continues was shown; undefined when there is no entry before the line. */
export type ShownBefore = boolean | undefined

export interface LineFilter {
  /** Must be called with the lines in the order of the log: a line that starts no entry belongs to the entry before it. */
  passes(line: string): boolean
  /** State after the last line, for the lines that continue the log. */
  readonly shown: ShownBefore
}

export function createLineFilter(filter: LogFilter, before: ShownBefore): LineFilter {
  let shown = before
  return {
    passes: (line) => {
      const entry = parseLogLine(line)
      if (entry !== undefined) shown = matches(entry, filter)
      // A line of no entry has no time and no level, so those filters cannot reject it.
      return shown ?? (filter.loggers === undefined && filter.session === undefined)
    },
    get shown() {
      return shown
    },
  }
}

/** Whether the last entry of these lines passes; undefined when no line starts an entry. */
export function lastEntryShown(lines: readonly string[], filter: LogFilter): ShownBefore {
  for (const line of lines.toReversed()) {
    const entry = parseLogLine(line)
    if (entry !== undefined) return matches(entry, filter)
  }
  return undefined
}

function matches(entry: LogEntry, filter: LogFilter): boolean {
  if (filter.level !== undefined && !isAtLeast(entry.level, filter.level)) return false
  if (filter.since !== undefined && entry.time < filter.since) return false
  if (filter.session !== undefined && entry.session?.includes(filter.session) !== true) return false
  const { loggers } = filter
  return loggers === undefined || loggers.some((name) => entry.logger === name || entry.logger.startsWith(`${name}.`))
}

export function parseAge(text: string): number | undefined {
  const parts = /^(\d{1,9})([smhd])$/i.exec(text.trim())
  if (parts === null) return undefined
  const unit = UNITS[(parts[2] ?? "").toLowerCase()]
  return unit === undefined ? undefined : Number(parts[1]) * unit
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
