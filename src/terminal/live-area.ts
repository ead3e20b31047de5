import { textColumns } from "./text-width.ts"

/**
 * The rows at the bottom of the screen that change in place: the prompt with its draft, or a progress line. All other output is
 * written above them.
 */
export interface LiveArea {
  /** Ends an unfinished line of other output, which hides the rows. */
  startLine(): void
  /** Shows these rows instead of the previous ones. The cursor stands behind the last row unless a position is given. */
  show(rows: readonly string[], cursor?: CursorPosition): void
  hide(): void
  /** Replaces the rows by ordinary output that ends with a newline. */
  commit(text: string): void
  /** Writes text that the terminal interprets: a mode, the bell, or a picture of the alternate screen. */
  control(sequence: string): void
}

export interface CursorPosition {
  readonly row: number
  readonly column: number
}

/** A live area and the function through which all other output to the same screen must pass. */
export interface Screen {
  readonly live: LiveArea
  readonly write: (text: string) => void
}

/** For a terminal on which the cursor can be moved. Each change is one write, so nothing flickers. */
export function createScreen(output: { write(text: string): void; readonly columns: number }): Screen {
  let rows: readonly string[] = []
  let cursor: CursorPosition | undefined
  let drawn: { readonly rows: readonly string[]; readonly cursor: CursorPosition } | undefined
  // Other output has not finished its line, so the rows wait for its end.
  let midLine = false

  /** Moves to the first drawn row. */
  const toStart = (): string => {
    if (drawn === undefined) return ""
    const { columns } = output
    // After a resize the terminal has wrapped the rows above the cursor again.
    const up = drawn.rows
      .slice(0, drawn.cursor.row)
      .reduce((count, row) => count + Math.max(1, Math.ceil(columnsOf(row) / columns)), 0)
    return up === 0 ? "\r" : `\u{1B}[${up}A\r`
  }
  const erase = (): string => {
    const sequence = drawn === undefined ? "" : `${toStart()}\u{1B}[J`
    drawn = undefined
    return sequence
  }
  const draw = (): string => {
    if (rows.length === 0) return erase()
    const start = toStart()
    const end = { row: rows.length - 1, column: columnsOf(rows.at(-1) ?? "") }
    const position = cursor ?? end
    drawn = { rows, cursor: position }
    const up = end.row - position.row
    const back =
      up === 0 && position.column === end.column
        ? ""
        : `${up === 0 ? "" : `\u{1B}[${up}A`}\r${position.column === 0 ? "" : `\u{1B}[${position.column}C`}`
    return `${start}${rows.join("\u{1B}[K\r\n")}\u{1B}[J${back}`
  }

  return {
    live: {
      startLine: () => {
        if (midLine) output.write("\n")
        midLine = false
      },
      show: (next, position) => {
        rows = next
        cursor = position
        if (!midLine) output.write(draw())
      },
      hide: () => {
        rows = []
        output.write(erase())
      },
      commit: (text) => {
        rows = []
        output.write(`${erase()}${text}\n`)
        midLine = false
      },
      control: (sequence) => {
        output.write(sequence)
      },
    },
    write: (text) => {
      if (text === "") return
      const erased = erase()
      midLine = !text.endsWith("\n")
      output.write(erased + text + (midLine || rows.length === 0 ? "" : draw()))
    },
  }
}

/** For a terminal that only prints: rows are appended to, rubbed out from the end, or printed again. */
export function createPlainScreen(output: { write(text: string): void }): Screen {
  let shown = ""
  const show = (text: string): void => {
    if (text.startsWith(shown)) output.write(text.slice(shown.length))
    else if (shown.startsWith(text) && !shown.slice(text.length).includes("\n"))
      output.write("\b \b".repeat(textColumns(shown.slice(text.length))))
    else output.write(`\n${text}`)
    shown = text
  }
  return {
    live: {
      startLine: () => undefined,
      show: (rows) => {
        show(rows.join("\n"))
      },
      hide: () => {
        if (shown !== "") output.write("\n")
        shown = ""
      },
      commit: (text) => {
        show(text)
        output.write("\n")
        shown = ""
      },
      control: () => undefined,
    },
    write: (text) => {
      const interrupted = shown
      shown = ""
      output.write(interrupted === "" ? text : `\n${text}`)
      if (interrupted !== "" && text.endsWith("\n")) show(interrupted)
    },
  }
}

function columnsOf(row: string): number {
  // eslint-disable-next-line no-control-regex -- these are the colours that rows contain
  return textColumns(row.replaceAll(/\u{1B}\[[\d;]*m/gu, ""))
}
