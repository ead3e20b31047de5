import { listSessions } from "../../../admin/sessions/read-sessions.ts"
import { systemClock } from "../../../base/clock.ts"
import type { SessionSummary } from "../../../state/store.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { relativeTime } from "../../terminal/relative-time.ts"
import { fitColumn } from "../../terminal/text-layout.ts"

const DEFAULT_LIMIT = 20

/** `hermes sessions list` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const all = flags.has("all")
  const sessions = await sessionsForFlags(invocation, { defaultLimit: DEFAULT_LIMIT, all })
  if (flags.has("json")) printJson(terminal, sessions.map(summaryJson))
  else if (sessions.length === 0) terminal.line("There are no sessions to list.")
  else for (const line of sessionTable(sessions, { now: systemClock.now() / 1000, kinds: all })) terminal.line(line)
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
  options: { readonly now: number; readonly kinds: boolean },
): readonly string[] {
  const titled = sessions.some((session) => session.title !== null)
  const columns: readonly Column[] = titled
    ? [
        { heading: "Title", width: 30, text: (session) => session.title ?? "—" },
        { heading: "Preview", width: 38, text: (session) => session.preview },
        lastActive(options.now),
      ]
    : [
        { heading: "Preview", width: 48, text: (session) => session.preview },
        lastActive(options.now),
        { heading: "Source", width: 10, text: (session) => session.source },
      ]
  const shown = options.kinds ? [...columns, KIND] : columns
  return [
    row(
      shown.map((column) => fitColumn(column.heading, column.width)),
      "ID",
    ),
    ...sessions.map((session) =>
      row(
        shown.map((column) => fitColumn(column.text(session), column.width)),
        session.id,
      ),
    ),
  ]
}

interface Column {
  readonly heading: string
  readonly width: number
  readonly text: (session: SessionSummary) => string
}

const KIND: Column = { heading: "Kind", width: 12, text: (session) => session.kind }

function lastActive(now: number): Column {
  return { heading: "Last active", width: 12, text: (session) => relativeTime(session.lastActivity, now) }
}

function row(cells: readonly string[], id: string): string {
  return [...cells, id].join(" ")
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
