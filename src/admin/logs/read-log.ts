import type { HomeContext } from "../home-context.ts"
import { followLog } from "./follow-log.ts"
import { endOfLog, lastLines, logParts, type LOG_NAMES } from "./log-files.ts"
import { createLineFilter, type LogFilter } from "./log-filter.ts"

export interface ReadLogOptions {
  /** How many of the last lines to read. */
  readonly count: number
  readonly filter: LogFilter
  /** Continues with new lines until the signal aborts. */
  readonly follow: boolean
  readonly signal: AbortSignal
}

export type LogName = (typeof LOG_NAMES)[number]

export function logPath({ home }: Pick<HomeContext, "home">, name: LogName): string {
  return home.file("logs", `${name}.log`)
}

/** Returns the lines of a log that pass the filter; undefined when the log does not exist. */
export function readLog(
  context: Pick<HomeContext, "home" | "clock">,
  name: LogName,
  options: ReadLogOptions,
): AsyncIterable<string> | undefined {
  const path = logPath(context, name)
  const parts = logParts(path)
  return parts.length === 0 ? undefined : readLines(path, { ...options, parts, clock: context.clock })
}

async function* readLines(
  path: string,
  options: ReadLogOptions & Pick<HomeContext, "clock"> & { readonly parts: readonly string[] },
): AsyncGenerator<string, void> {
  const { parts, count, follow, clock, signal } = options
  const until = follow ? endOfLog(path) : undefined
  const last = lastLines(parts, { count, until, filter: options.filter })
  yield* last.lines
  if (!follow) return
  const filter = createLineFilter(options.filter, last.shown)
  for await (const line of followLog(path, { clock, signal, from: until })) if (filter.passes(line)) yield line
}
