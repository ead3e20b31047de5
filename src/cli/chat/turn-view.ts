import { assertNever } from "../../base/assert-never.ts"
import { ellipsize } from "../../base/text.ts"
import type { AgentEvent, RunEnd, ToolEnd } from "../../protocol/events.ts"
import type { Terminal } from "../terminal.ts"

/** Shows a turn as it happens: the answer as it streams, tools as one line each. */
export interface TurnView {
  event(event: Exclude<AgentEvent, { type: "run-end" }>): void
  end(end: RunEnd | undefined): void
}

export function createTurnView(options: {
  readonly terminal: Terminal
  readonly progress: "stdout" | "stderr"
}): TurnView {
  const { terminal } = options
  // With progress on the same screen as the answer, a line that is being written must be closed first.
  let midLine = false
  let answered = false
  const note = (text: string): void => {
    if (midLine) terminal.out("\n")
    midLine = false
    if (options.progress === "stderr") terminal.errLine(dim(printable(text), terminal))
    else terminal.line(dim(printable(text), terminal))
  }

  return {
    event: (event) => {
      switch (event.type) {
        case "text-delta":
          terminal.out(printable(event.text))
          midLine = !event.text.endsWith("\n")
          answered = true
          return
        case "tool-start":
          note(
            `→ ${event.call.name} ${ellipsize(event.preview.replaceAll("\n", " "), previewRoom(terminal, event.call.name))}`,
          )
          return
        case "tool-end":
          note(`  ${toolLine(event)}`)
          return
        case "status":
          if (SHOWN_STATUS.has(event.kind)) note(event.text)
          return
        case "message-end":
          if (midLine) terminal.out("\n")
          midLine = false
          return
        case "run-start":
        case "reasoning-delta":
        case "tool-progress":
        case "approval-request":
        case "clarify-request":
        case "usage":
        case "session-rotated":
          return
        default:
          assertNever(event)
      }
    },
    end: (end) => {
      if (midLine) terminal.out("\n")
      if (end === undefined || end.outcome === "interrupted") {
        note("Interrupted.")
        return
      }
      if (end.result.error !== undefined) terminal.errLine(`Error: ${end.result.error.message}`)
      else if (!answered && end.result.finalResponse !== null) terminal.line(printable(end.result.finalResponse))
    },
  }
}

/** What a model or a tool wrote may not drive the terminal: control characters other than newline and tab are left out. */
function printable(text: string): string {
  return text.replaceAll(CONTROL_CHARACTERS, "")
}

// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/gu

/** What of the status is worth a line between the answers. */
const SHOWN_STATUS: ReadonlySet<string> = new Set(["warning", "retry", "notice", "fallback", "rotate"])

function toolLine(event: ToolEnd): string {
  const mark = event.outcome === "ok" ? "✓" : "✗"
  const seconds = event.durationMs >= 1000 ? ` (${(event.durationMs / 1000).toFixed(1)} s)` : ""
  return `${mark} ${ellipsize(event.summary.replaceAll("\n", " "), 200)}${seconds}`
}

function previewRoom(terminal: Terminal, name: string): number {
  return Math.max(20, terminal.columns - name.length - 4)
}

function dim(text: string, terminal: Terminal): string {
  return terminal.color ? `\u{1B}[2m${text}\u{1B}[0m` : text
}
