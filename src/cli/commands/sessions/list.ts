import { listSessions } from "../../../admin/sessions/read-sessions.ts"
import { systemClock } from "../../../base/clock.ts"
import type { SessionSummary } from "../../../state/store.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { relativeTime } from "../../../terminal/relative-time.ts"
import { outputWidth, tableLines, type TableColumn } from "../../terminal/table.ts"

const DEFAULT_LIMIT = 20

/** `hermes sessions list` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const all = flags.has("all")
  const sessions = await sessionsForFlags(invocation, { defaultLimit: DEFAULT_LIMIT, all })
  if (flags.has("json")) printJson(terminal, sessions.map(summaryJson))
  else if (sessions.length === 0) terminal.line("There are no sessions to list.")
  else {
    const options = { now: systemClock.now() / 1000, kinds: all, width: outputWidth(invocation) }
    for (const line of sessionTable(sessions, options)) terminal.line(line)
  }
  return 0
}

/** The sessions that `--source` and `--limit` select, by last activity, newest first. */
export function sessionsForFlags(
  invocation: Invocation,
  { defaultLimit, all }: { readonly defaultLimit: number; readonly all: boolean },
): Promise<readonly SessionSummary[]> {
  const { flags } = invocation
  return listSessions(homeContext(invocation), {
    source: flags.text("source"),
    limit: flags.number("limit") ?? defaultLimit,
    all,
  })
}

/** Has a title column when any session has a title, else a source column. Ids are never shortened. */
export function sessionTable(
  sessions: readonly SessionSummary[],
  options: { readonly now: number; readonly kinds: boolean; readonly width: number | undefined },
): readonly string[] {
  const titled = sessions.some((session) => session.title !== null)
  const title: Column = { heading: "Title", flexible: true, text: (session) => session.title ?? "—" }
  const preview: Column = { heading: "Preview", flexible: true, text: (session) => session.preview }
  const active: Column = {
    heading: "Last active",
    text: (session) => relativeTime(session.lastActivity, options.now),
  }
  const source: Column = { heading: "Source", text: (session) => session.source }
  const kind: Column = { heading: "Kind", text: (session) => session.kind }
  const id: Column = { heading: "ID", text: (session) => session.id }
  const columns = [
    ...(titled ? [title, preview, active] : [preview, active, source]),
    ...(options.kinds ? [kind] : []),
    id,
  ]
  const rows = sessions.map((session) => columns.map(({ text }) => text(session)))
  return tableLines(columns, rows, { width: options.width })
}

interface Column extends TableColumn {
  readonly text: (session: SessionSummary) => string
}

function summaryJson(session: SessionSummary): object {
  return {
    id: session.id,
    title: session.title,
    preview: session.preview,
    source: session.source,
    kind: session.kind,
    model: session.model,
    cwd: session.cwd,
    started_at: session.startedAt,
    ended_at: session.endedAt,
    last_active: session.lastActivity,
    message_count: session.messageCount,
    tool_call_count: session.toolCallCount,
    lineage_root: session.lineageRoot,
  }
}
