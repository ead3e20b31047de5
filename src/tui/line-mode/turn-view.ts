import { assertNever } from "../../base/assert-never.ts"
import { systemClock } from "../../base/clock.ts"
import type { AgentEvent, RunEnd } from "../../protocol/events.ts"
import type { Terminal } from "../../terminal/terminal.ts"
import { createPlainStream, plainText } from "../../terminal/printable-text.ts"
import { dim, oneLine } from "../../terminal/text-layout.ts"
import { createWordWrap, wrapWords } from "../../terminal/word-wrap.ts"
import { createProgressLine } from "./progress-line.ts"
import { createSubagentTree } from "./subagent-tree.ts"
import { shownStatus } from "../conversation/shown-status.ts"
import { unseenPart } from "../conversation/unseen-part.ts"
import { toolEndLines, toolStartLine } from "./tool-lines.ts"

/** Shows a turn as it happens: the answer as it streams, each tool with its result, and what the turn is doing now. */
export interface TurnView {
  event(event: Exclude<AgentEvent, { type: "run-end" }>): void
  /** Shows a line about the turn that is not part of the answer. */
  note(text: string): void
  /** Shows what the user types during the turn. */
  setDraft(text: string): void
  end(end: RunEnd | undefined): void
  /** Removes what is not part of the result. Called by `end`; call it when the turn ends otherwise. */
  close(): void
}

/** How long the last word of a delta may wait for the next one. */
const HELD_WORD_MS = 100

export function createTurnView(options: {
  readonly terminal: Terminal
  readonly progress: "stdout" | "stderr"
}): TurnView {
  const { terminal } = options
  // Progress and the answer share the screen, so an unfinished line must be ended first.
  let midLine = false
  const shownMessages: string[] = []
  const plain = createPlainStream()
  const wrap = terminal.stdoutIsTty ? createWordWrap(() => terminal.columns) : undefined
  const put = (text: string): void => {
    terminal.out(text)
    if (text !== "") midLine = !text.endsWith("\n")
  }
  // A word that the stream has not finished is shown when it stalls.
  let timer: NodeJS.Timeout | undefined
  const releaseLater = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined
      put(wrap?.release() ?? "")
    }, HELD_WORD_MS).unref()
  }
  const closeLine = (): void => {
    clearTimeout(timer)
    timer = undefined
    const held = plain.end()
    put(wrap?.feed(held) ?? held)
    put(wrap?.flush() ?? "")
    if (midLine) terminal.out("\n")
    midLine = false
  }
  const write = (text: string): void => {
    const shown = plain.feed(text)
    put(wrap?.feed(shown) ?? shown)
    if (wrap !== undefined) releaseLater()
  }
  const aside = (text: string): void => {
    closeLine()
    const shown = terminal.stderrIsTty ? wrapWords(text, terminal.columns) : text
    terminal.styledLine(dim(plainText(shown), terminal.color && terminal.stderrIsTty), "stderr")
  }
  const progressColor = options.progress === "stdout" ? terminal.color : terminal.color && terminal.stderrIsTty
  const progress = (lines: readonly string[]): void => {
    closeLine()
    for (const line of lines) terminal.styledLine(line, options.progress)
  }
  const activity = createProgressLine(terminal, () => systemClock.now())
  const calls = createRunningCalls()
  const subagents = createSubagentTree()

  return {
    note: aside,
    setDraft: (text) => {
      activity.setDraft(text)
    },
    close: () => {
      activity.stop()
      clearTimeout(timer)
    },
    event: (event) => {
      switch (event.type) {
        case "text-delta":
          activity.set(undefined)
          write(event.text)
          return
        case "tool-start":
          calls.started(event.call.id, `${event.call.name} ${event.preview}`)
          progress([toolStartLine(event, { columns: terminal.columns, color: progressColor })])
          activity.set(calls.text())
          return
        case "tool-end": {
          const preview = calls.ended(event.call.id).slice(event.call.name.length + 1)
          progress(toolEndLines(event, { columns: terminal.columns, color: progressColor, preview }))
          activity.set(calls.text())
          return
        }
        case "subagent-start":
        case "subagent-end":
          progress(subagents.lines(event, { columns: terminal.columns, color: progressColor }))
          activity.set(subagents.text() ?? calls.text())
          return
        case "status": {
          if (event.kind === "subagent")
            progress(subagents.lines(event, { columns: terminal.columns, color: progressColor }))
          if (event.kind === "answered") activity.set(calls.text())
          const shown = shownStatus(event)
          if (shown !== undefined) aside(shown)
          return
        }
        case "message-end":
          if (!event.streamed) write(event.message.text)
          shownMessages.push(event.message.text)
          closeLine()
          activity.set(calls.text())
          return
        case "run-start":
        case "reasoning-delta":
          activity.set(calls.text())
          return
        case "approval-request":
        case "clarify-request":
          activity.set(undefined)
          return
        case "tool-progress":
        case "usage":
        case "session-rotated":
        case "plan-ready":
          return
        default:
          assertNever(event)
      }
    },
    end: (end) => {
      activity.stop()
      closeLine()
      if (end === undefined || end.outcome === "interrupted") {
        aside("Interrupted.")
        return
      }
      const unseen = unseenPart(end.result.finalResponse ?? "", shownMessages)
      if (unseen !== "") {
        write(unseen)
        closeLine()
      }
      for (const note of end.result.notes ?? []) aside(note)
      if (end.result.error !== undefined) terminal.errLine(`Error: ${end.result.error.message}`)
    },
  }
}

/** The calls that run now, and whether the results of several can be confused. */
function createRunningCalls() {
  const running = new Map<string, string>()
  const overlapping = new Set<string>()
  return {
    started: (id: string, text: string): void => {
      running.set(id, text)
      if (running.size > 1) for (const other of running.keys()) overlapping.add(other)
    },
    /** Returns the text of the call if others ran at the same time; its start line is not just above the result then. */
    ended: (id: string): string => {
      const text = overlapping.has(id) ? running.get(id) : undefined
      running.delete(id)
      overlapping.delete(id)
      return text ?? ""
    },
    text: (): string => {
      const [first, ...others] = running.values()
      if (first === undefined) return "Thinking"
      return others.length === 0 ? `Running ${oneLine(first)}` : `Running ${others.length + 1} tools`
    },
  }
}
