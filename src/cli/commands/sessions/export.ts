import { resolve } from "node:path"
import { exportSessionLines, exportSessions, writeExportFile } from "../../../admin/sessions/export-sessions.ts"
import type { ExportFileFailure, ExportFormat } from "../../../admin/sessions/export-sessions.ts"
import { exportTranscript, formatOfFile, type TranscriptFormat } from "../../../admin/transcript/export-transcript.ts"
import { assertNever } from "../../../base/assert-never.ts"
import type { ReportProgress } from "../../../base/progress.ts"
import { counted } from "../../../base/counted.ts"
import { CliError, type Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import type { Terminal } from "../../../terminal/terminal.ts"
import { noSession } from "./no-session.ts"

/** `hermes sessions export OUT`: one session per line, or one session as a document. */
export async function run(invocation: Invocation): Promise<number> {
  const { positionals, terminal } = invocation
  const [out = "-"] = positionals
  const format = chosenFormat(invocation, out)
  const sessions =
    format === "markdown" || format === "html"
      ? [await oneDocument(invocation, format)]
      : await selectedSessions(invocation, format)
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

type Format = ExportFormat["kind"] | TranscriptFormat

/** The flag decides, then the name of the file. */
function chosenFormat({ flags }: Invocation, out: string): Format {
  const flag = flags.text("format")
  if (flag === "trajectory" || flag === "markdown" || flag === "html" || flag === "jsonl") return flag
  return formatOfFile(out) ?? "jsonl"
}

async function oneDocument(invocation: Invocation, format: TranscriptFormat): Promise<string> {
  const name = invocation.flags.text("session-id")
  if (name === undefined) {
    const title = format === "html" ? "An HTML file" : "A Markdown file"
    throw new CliError(
      `${title} holds one session. Choose it with --session-id ID (\`hermes sessions list\` shows them), or use --format jsonl for all.`,
      { exitCode: 2 },
    )
  }
  const text = await exportTranscript(homeContext(invocation), name, format)
  if (text === undefined) throw noSession(name)
  return text.trimEnd()
}

async function selectedSessions(invocation: Invocation, kind: ExportFormat["kind"]): Promise<Lines> {
  const { flags, signal } = invocation
  const context = homeContext(invocation)
  const name = flags.text("session-id")
  const format: ExportFormat = {
    kind,
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
