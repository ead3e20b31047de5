import { listLogFiles, LOG_NAMES } from "../../admin/logs/log-files.ts"
import { readLogFilter } from "../../admin/logs/log-filter.ts"
import { logPath, readLog } from "../../admin/logs/read-log.ts"
import { systemClock } from "../../base/clock.ts"
import { fileSize } from "../../base/file-size.ts"
import { nearest } from "../../base/nearest-name.ts"
import { CliError, type Invocation } from "../command.ts"
import { homeContext } from "../home-context.ts"
import { relativeTime } from "../terminal/relative-time.ts"

const DEFAULT_LINES = 50

/** `hermes logs [agent|errors|gateway|gui|list]` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home, signal } = invocation
  const [given = "agent"] = positionals
  if (given === "list") return printList(invocation)
  const name = LOG_NAMES.find((known) => known === given)
  if (name === undefined) throw unknownLog(given)
  const filter = readLogFilter({
    level: flags.text("level"),
    session: flags.text("session"),
    since: flags.text("since"),
    component: flags.text("component"),
    now: systemClock.now(),
  })
  if (!filter.ok) throw new CliError(filter.error, { exitCode: 1 })
  const context = homeContext(invocation)
  const lines = readLog(context, name, {
    count: flags.number("lines") ?? DEFAULT_LINES,
    filter: filter.value,
    follow: flags.has("follow"),
    signal,
  })
  if (lines === undefined) {
    const path = home.display(logPath(context, name))
    throw new CliError(`${path} does not exist yet; \`hermes logs list\` shows the existing logs.`, {
      exitCode: 1,
    })
  }
  for await (const line of lines) {
    terminal.line(line)
    if (terminal.closed) break
  }
  return 0
}

function unknownLog(name: string): CliError {
  const suggestion = nearest(name, LOG_NAMES)
  const hint = suggestion === undefined ? "" : ` Did you mean \`${suggestion}\`?`
  return new CliError(`There is no log \`${name}\`.${hint} Use one of ${LOG_NAMES.join(", ")}, list.`, { exitCode: 1 })
}

function printList({ terminal, home }: Invocation): number {
  const directory = home.file("logs")
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
