import { systemClock } from "../../base/clock.ts"
import { nearest } from "../../base/nearest.ts"
import { CliError, type Invocation } from "../command.ts"
import { fileSize } from "../file-size.ts"
import { createLineFilter, readLogFilter } from "../logs/log-filter.ts"
import { lastLines, listLogFiles, LOG_NAMES, logParts, markEnd } from "../logs/log-files.ts"
import { followLog } from "../logs/log-follower.ts"
import { relativeTime } from "../relative-time.ts"

const DEFAULT_LINES = 50

/** `hermes logs [agent|errors|gateway|gui|list]` */
export async function run({ flags, positionals, terminal, home, signal }: Invocation): Promise<number> {
  const directory = home.file("logs")
  const [name = "agent"] = positionals
  if (name === "list") return printList(directory, { terminal, home })
  const log = LOG_NAMES.find((known) => known === name)
  if (log === undefined) {
    const suggestion = nearest(name, LOG_NAMES)
    throw new CliError(
      `There is no log \`${name}\`.${suggestion === undefined ? "" : ` Did you mean \`${suggestion}\`?`} Use one of ${LOG_NAMES.join(", ")}, list.`,
      { exitCode: 1 },
    )
  }
  const filter = readLogFilter({
    level: flags.text("level"),
    session: flags.text("session"),
    since: flags.text("since"),
    component: flags.text("component"),
    now: systemClock.now(),
  })
  if (!filter.ok) throw new CliError(filter.error, { exitCode: 1 })
  const path = home.file("logs", `${log}.log`)
  const parts = logParts(path)
  if (parts.length === 0) {
    throw new CliError(`${home.display(path)} does not exist yet; \`hermes logs list\` shows what there is.`, {
      exitCode: 1,
    })
  }
  const filtered = (): ((line: string) => boolean) => createLineFilter(filter.value)
  const until = flags.has("follow") ? markEnd(path) : undefined
  const count = flags.number("lines") ?? DEFAULT_LINES
  for (const line of lastLines(parts, { count, until, filter: filtered })) terminal.line(line)
  if (!flags.has("follow")) return 0
  const passes = filtered()
  for await (const line of followLog(path, { clock: systemClock, signal, from: until })) {
    if (passes(line)) terminal.line(line)
    if (terminal.closed) break
  }
  return 0
}

function printList(directory: string, { terminal, home }: Pick<Invocation, "terminal" | "home">): number {
  const files = listLogFiles(directory)
  if (files.length === 0) {
    terminal.line(`There are no log files in ${home.display(directory)} yet.`)
    return 0
  }
  const width = Math.max(...files.map((file) => file.name.length))
  const now = systemClock.now() / 1000
  for (const file of files) {
    terminal.line(`${file.name.padEnd(width)}  ${fileSize(file.bytes).padStart(9)}  ${relativeTime(file.changed, now)}`)
  }
  return 0
}
