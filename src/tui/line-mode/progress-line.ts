import type { Terminal } from "../../terminal/terminal.ts"
import { cutToColumns, dim } from "../../terminal/text-layout.ts"
import { nextGrapheme, textColumns } from "../../terminal/text-width.ts"

/**
 * A line at the bottom of the terminal that shows what a turn is doing and for how long, and below it what the user types
 * meanwhile. Nothing is shown in pipes and on a terminal that cannot erase it.
 */
export interface ProgressLine {
  /** Undefined hides the line: text is being written, or the user is asked. */
  set(activity: string | undefined): void
  setDraft(text: string): void
  stop(): void
}

const TICK_MS = 120
/** A quick step shows nothing, so that the line does not flash. */
const SHOW_AFTER_MS = 300
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]

export function createProgressLine(terminal: Terminal, now: () => number): ProgressLine {
  const { live } = terminal
  if (live === undefined || !terminal.movesCursor) {
    return { set: () => undefined, setDraft: () => undefined, stop: () => undefined }
  }
  let activity: string | undefined
  let since = 0
  let draft = ""
  let isShown = false
  let timer: NodeJS.Timeout | undefined

  const hide = (): void => {
    if (isShown) live.hide()
    isShown = false
  }
  const draw = (): void => {
    const elapsed = now() - since
    if (activity === undefined || (elapsed < SHOW_AFTER_MS && draft === "")) return
    const width = Math.max(8, terminal.columns - 1)
    const frame = FRAMES[Math.floor(elapsed / TICK_MS) % FRAMES.length] ?? ""
    const seconds = Math.floor(elapsed / 1000)
    const time =
      seconds === 0 ? "" : ` (${seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`})`
    const row = `${frame} ${cutToColumns(activity, width - time.length - 2)}${time}`
    live.show([dim(row, terminal.color), ...(draft === "" ? [] : [`› ${endOf(draft, width - 2)}`])])
    isShown = true
  }
  const stop = (): void => {
    clearInterval(timer)
    timer = undefined
    hide()
  }
  return {
    set: (next) => {
      if (next === activity) return
      activity = next
      since = now()
      if (next === undefined) stop()
      else timer ??= setInterval(draw, TICK_MS).unref()
    },
    setDraft: (text) => {
      draft = text
      draw()
    },
    stop: () => {
      activity = undefined
      stop()
    },
  }
}

/** The end of a text, on one line. */
function endOf(text: string, columns: number): string {
  let line = text.slice(-MAX_DRAFT_CHARS).replaceAll(/[\s\p{Cc}]+/gu, " ")
  if (line.length === text.length && textColumns(line) <= columns) return line
  while (textColumns(line) > columns - 1) line = line.slice(nextGrapheme(line, 0))
  return `…${line}`
}

/** More than any row can show. */
const MAX_DRAFT_CHARS = 500
