import { resolve } from "node:path"
import { exportSessionLines, exportSessions, writeExportFile } from "../../../admin/sessions/export-sessions.ts"
import type { ExportFileFailure, ExportFormat } from "../../../admin/sessions/export-sessions.ts"
import { assertNever } from "../../../base/assert-never.ts"
import type { ReportProgress } from "../../../base/progress.ts"
import { counted } from "../../../base/counted.ts"
import { CliError, type Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import type { Terminal } from "../../../terminal/terminal.ts"
import { noSession } from "./no-session.ts"

/** `hermes sessions export OUT`: one session per line. */
export async function run(invocation: Invocation): Promise<number> {
  const { positionals, terminal } = invocation
  const [out = "-"] = positionals
  const sessions = await selectedSessions(invocation)
  if (out === "-") {
    await printSessions(sessions, terminal)
    return 0
  }
  const path = resolve(out)
  const written = await writeExportFile(path, withProgress(sessions, homeContext(invocation).progress))
  if (!written.ok) throw exportError(path, written.error)
  const count = written.value
  terminal.line(count === 0 ? "There are no sessions to export." : `Exported ${counted(count, "session")} to ${out}.`)
  return 0
}

type Lines = AsyncIterable<string> | Iterable<string>

async function selectedSessions(invocation: Invocation): Promise<Lines> {
  const { flags, signal } = invocation
  const context = homeContext(invocation)
  const name = flags.text("session-id")
  const format: ExportFormat = {
    kind: flags.text("format") === "trajectory" ? "trajectory" : "jsonl",
    includeUndone: flags.has("include-undone"),
  }
  if (name === undefined) return exportSessions(context, { source: flags.text("source"), signal, format })
  const lines = await exportSessionLines(context, name, format)
  if (lines === undefined) throw noSession(name)
  return lines
}

async function* withProgress(sessions: Lines, report: ReportProgress | undefined): AsyncGenerator<string, void> {
  let count = 0
  try {
    for await (const line of sessions) {
      yield line
      count += 1
      if (count % REPORTED_EVERY === 0) report?.({ step: `exported ${count} sessions` })
    }
  } finally {
    report?.(undefined)
  }
}

const REPORTED_EVERY = 100

async function printSessions(sessions: Lines, terminal: Terminal): Promise<void> {
  for await (const line of sessions) {
    terminal.line(line)
    await terminal.flush()
    if (terminal.closed) return
  }
}

function exportError(path: string, failure: ExportFileFailure): CliError {
  switch (failure.kind) {
    case "is-directory":
      return new CliError(`${path} is a directory; name a file.`, { exitCode: 2 })
    case "cannot-write":
      return new CliError(`Cannot write ${path}: ${failure.reason}.`, { exitCode: 1 })
    default:
      return assertNever(failure)
  }
}
