import { stripAnsi } from "../../base/strip-ansi.ts"
import { ellipsize } from "../../base/text.ts"
import type { ProcessView } from "../../exec/background/process-view.ts"

type Redact = (text: string) => string
type Fields = Readonly<Record<string, unknown>>

const LIST_CHARS = 200
const POLL_CHARS = 1000
const WAIT_CHARS = 2000
const LOG_LINES = 200

export function listed(view: ProcessView, redact: Redact): Fields {
  return {
    session_id: view.id,
    command: ellipsize(redact(view.command), LIST_CHARS),
    cwd: view.cwd,
    pid: view.pid,
    started_at: new Date(view.startedAt).toISOString(),
    uptime_seconds: Math.floor(view.uptimeMs / 1000),
    status: view.state.status,
    ...(view.state.status === "exited" && { exit_code: view.state.exitCode ?? null }),
    output_preview: tail(textOf(view, redact), LIST_CHARS),
    ...(view.isDetached && { detached: true }),
  }
}

export function polled(view: ProcessView, redact: Redact): Fields {
  return {
    session_id: view.id,
    command: ellipsize(redact(view.command), LIST_CHARS),
    status: view.state.status,
    pid: view.pid,
    uptime_seconds: Math.floor(view.uptimeMs / 1000),
    output_preview: tail(textOf(view, redact), POLL_CHARS),
    ...ending(view),
    ...detached(view),
  }
}

export function logged(
  view: ProcessView,
  { offset, limit = LOG_LINES }: { readonly offset?: number | undefined; readonly limit?: number | undefined },
  redact: Redact,
): Fields {
  const text = textOf(view, redact).replace(/\n$/, "")
  const lines = text === "" ? [] : text.split("\n")
  const first = offset ?? Math.max(0, lines.length - limit)
  const chosen = lines.slice(first, first + limit)
  return {
    session_id: view.id,
    status: view.state.status,
    output: chosen.join("\n"),
    total_lines: lines.length,
    showing: chosen.length === 0 ? "nothing" : `lines ${first + 1} to ${first + chosen.length}`,
    ...(view.isTruncated && { note: "earlier output was dropped; line 1 is the first that is kept" }),
    ...detached(view),
  }
}

export function waited(
  view: ProcessView,
  { status, redact }: { readonly status: string; readonly redact: Redact },
): Fields {
  return {
    session_id: view.id,
    status,
    ...ending(view),
    output: tail(textOf(view, redact), status === "exited" ? WAIT_CHARS : POLL_CHARS),
    ...(status === "timeout" && { timeout_note: "it is still running; wait again, poll it or kill it" }),
    ...detached(view),
  }
}

function ending({ state }: ProcessView): Fields {
  if (state.status === "running") return {}
  return {
    exit_code: state.exitCode ?? null,
    completion_reason: state.reason,
    ...(state.source !== undefined && { termination_source: state.source }),
  }
}

function detached(view: ProcessView): Fields {
  return view.isDetached
    ? { detached: true, note: "started before Hermes was restarted: only its status is known, and kill works" }
    : {}
}

function textOf(view: ProcessView, redact: Redact): string {
  return redact(stripAnsi(view.output).replaceAll("\r\n", "\n"))
}

function tail(text: string, chars: number): string {
  return text.length <= chars ? text : text.slice(-chars).replace(/^[\uDC00-\uDFFF]/, "")
}
