import { readAudit, readAuditFilter, type AuditLine } from "../../../admin/permissions/read-audit.ts"
import { systemClock } from "../../../base/clock.ts"
import { CliError, type Invocation } from "../../command.ts"
import { localDateTime } from "../../../terminal/relative-time.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"

const DEFAULT_LIMIT = 50

/** `hermes permissions log` and `hermes audit` */
export function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home } = invocation
  const filter = readAuditFilter({
    session: flags.text("session"),
    tool: flags.text("tool"),
    decision: flags.text("decision"),
    since: flags.text("since"),
    now: systemClock.now(),
  })
  if (!filter.ok) throw new CliError(filter.error, { exitCode: 2 })
  const entries = readAudit({ home }, filter.value, flags.number("limit") ?? DEFAULT_LIMIT) ?? []
  if (flags.has("json")) printJson(terminal, entries)
  else if (entries.length === 0) terminal.line("There are no such decisions yet.")
  else printTable([{}, {}, {}, {}, { flexible: true }], entries.map(row), invocation)
  return Promise.resolve(0)
}

function row(entry: AuditLine): readonly string[] {
  const { ts } = entry
  const time = typeof ts === "number" ? localDateTime(ts) : ""
  if (typeof entry["event"] === "string") return [time, entry["event"], "", "", detailsOf(entry)]
  return [time, text(entry["decision"]), text(entry["decided_by"]), text(entry["tool"]), text(entry["args_preview"])]
}

function detailsOf({
  event: _event,
  ts: _ts,
  session_id: _session,
  task_id: _task,
  platform: _platform,
  ...details
}: AuditLine): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}=${text(value)}`)
    .join(" ")
}

function text(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value)
}
