import { assertNever } from "../../base/assert-never.ts"
import { ellipsize } from "../../base/text.ts"
import type { AgentEvent, RunEnd, ToolEnd } from "../../protocol/events.ts"
import { asSentence } from "../../base/sentence.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { withoutControlCharacters } from "../terminal/text-layout.ts"

/** Shows a turn as it happens: the answer as it streams, tools as one line each. */
export interface TurnView {
  event(event: Exclude<AgentEvent, { type: "run-end" }>): void
  /** Shows a line about the turn that is not part of the answer. */
  note(text: string): void
  end(end: RunEnd | undefined): void
}

export function createTurnView(options: {
  readonly terminal: Terminal
  readonly progress: "stdout" | "stderr"
}): TurnView {
  const { terminal } = options
  // Progress and the answer share the screen, so an unfinished line must be ended first.
  let midLine = false
  const shownMessages: string[] = []
  const closeLine = (): void => {
    if (midLine) terminal.out("\n")
    midLine = false
  }
  const write = (text: string): void => {
    terminal.out(withoutControlCharacters(text))
    if (text !== "") midLine = !text.endsWith("\n")
  }
  const aside = (text: string): void => {
    closeLine()
    terminal.errLine(dim(withoutControlCharacters(text), terminal.color && terminal.stderrIsTty))
  }
  const progress = (text: string): void => {
    if (options.progress === "stderr") {
      aside(text)
      return
    }
    closeLine()
    terminal.line(dim(withoutControlCharacters(text), terminal.color))
  }

  return {
    note: aside,
    event: (event) => {
      switch (event.type) {
        case "text-delta":
          write(event.text)
          return
        case "tool-start":
          progress(
            `→ ${event.call.name} ${ellipsize(event.preview.replaceAll("\n", " "), previewRoom(terminal, event.call.name))}`,
          )
          return
        case "tool-end":
          progress(`  ${toolLine(event)}`)
          return
        case "status":
          if (SHOWN_STATUS.has(event.kind) && event.text !== "") aside(asSentence(event.text))
          return
        case "message-end":
          if (!event.streamed) write(event.message.text)
          shownMessages.push(event.message.text)
          closeLine()
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
      closeLine()
      if (end === undefined || end.outcome === "interrupted") {
        aside("Interrupted.")
        return
      }
      const unseen = unseenPart(end.result.finalResponse ?? "", shownMessages)
      if (unseen !== "") terminal.line(withoutControlCharacters(unseen))
      if (end.result.error !== undefined) terminal.errLine(`Error: ${end.result.error.message}`)
    },
  }
}

/**
 * Returns the part of the final answer that is not on the screen yet: all of it when it differs from the messages of the turn, a
 * footer that was added to them, or nothing. An answer may span several messages.
 */
function unseenPart(final: string, shown: readonly string[]): string {
  let seen = ""
  let unseen = final
  for (const text of shown.toReversed()) {
    seen = text + seen
    if (final.startsWith(seen.trimEnd())) unseen = final.slice(seen.trimEnd().length)
  }
  return unseen.trim() === "" ? "" : unseen.trimEnd()
}

/** The kinds of status events that are shown. */
const SHOWN_STATUS: ReadonlySet<string> = new Set(["warning", "retry", "notice", "fallback", "rotate", "compress"])

/** A command with a non-zero exit code is a successful tool call, but it is shown as failed. */
function toolLine(event: ToolEnd): string {
  const symbol = event.outcome === "ok" && (event.exitCode ?? 0) === 0 ? "✓" : "✗"
  const seconds = event.durationMs >= 1000 ? ` (${(event.durationMs / 1000).toFixed(1)} s)` : ""
  return `${symbol} ${ellipsize(event.summary.replaceAll("\n", " "), 200)}${seconds}`
}

function previewRoom(terminal: Terminal, name: string): number {
  return Math.max(20, terminal.columns - name.length - 4)
}

function dim(text: string, color: boolean): string {
  return color ? `\u{1B}[2m${text}\u{1B}[0m` : text
}
