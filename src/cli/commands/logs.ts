import { listLogFiles, LOG_NAMES } from "../../admin/logs/log-files.ts"
import { readLogFilter } from "../../admin/logs/log-filter.ts"
import { logPath, readLog } from "../../admin/logs/read-log.ts"
import { systemClock } from "../../base/clock.ts"
import { fileSize } from "../../base/file-size.ts"
import { nearest } from "../../base/nearest-name.ts"
import { CliError, type Invocation } from "../command.ts"
import { homeContext } from "../home-context.ts"
import { relativeTime } from "../../terminal/relative-time.ts"
import { printJson } from "../terminal/json-output.ts"
import { printTable } from "../terminal/table.ts"

const DEFAULT_LINES = 50
const FLAGS_OF_A_LOG = ["lines", "follow", "level", "session", "since", "component"] as const

/** `hermes logs [agent|errors|gateway|gui|list]` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home, signal } = invocation
  const [given = "agent"] = positionals
  if (given === "list") {
    const flag = FLAGS_OF_A_LOG.find((name) => flags.has(name))
    if (flag === undefined) return printList(invocation)
    throw new CliError(`\`--${flag}\` cannot be used with \`hermes logs list\`.`, { exitCode: 2 })
  }
  const name = LOG_NAMES.find((known) => known === given)
  if (name === undefined) throw unknownLog(given)
  const filter = readLogFilter({
    level: flags.text("level"),
    session: flags.text("session"),
    since: flags.text("since"),
    component: flags.text("component"),
    now: systemClock.now(),
  })
  if (!filter.ok) throw new CliError(filter.error, { exitCode: 2 })
  if (flags.has("json") && flags.has("follow"))
    throw new CliError("`--json` prints one document, so it cannot be combined with `--follow`.", { exitCode: 2 })
  const context = homeContext(invocation)
  const lines = readLog(context, name, {
    count: flags.number("lines") ?? DEFAULT_LINES,
    filter: filter.value,
    follow: flags.has("follow"),
    signal,
  })
  if (flags.has("json")) {
    printJson(terminal, { log: name, lines: lines === undefined ? [] : await Array.fromAsync(lines) })
    return 0
  }
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
  return new CliError(`There is no log \`${name}\`.${hint} Use one of ${LOG_NAMES.join(", ")}, list.`, { exitCode: 2 })
}

function printList(invocation: Invocation): number {
  const { terminal, home } = invocation
  const directory = home.file("logs")
  const files = listLogFiles(directory)
  if (invocation.flags.has("json")) {
    printJson(terminal, files)
    return 0
  }
  if (files.length === 0) {
    terminal.line(`There are no log files in ${home.display(directory)} yet.`)
    return 0
  }
  const now = systemClock.now() / 1000
  const rows = files.map((file) => [file.name, fileSize(file.bytes), relativeTime(file.changed, now)])
  printTable([{}, { align: "right" }, {}], rows, invocation)
  return 0
}
