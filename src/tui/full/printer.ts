import type { Row } from "../drawing.ts"
import { noteRows } from "../render/note-rows.ts"
import type { NoteKind } from "../render/note-rows.ts"
import type { RowOptions } from "../render/row-options.ts"
import type { Screen } from "../screen/screen.ts"
import type { Theme } from "../theme/theme.ts"
import { textRows } from "./screen-terminal.ts"
import type { ScreenTerminal } from "./screen-terminal.ts"

/** Prints above the live area. After `close`, text goes to the terminal itself. */
export interface Printer {
  /** What a renderer of rows needs to know at the moment. */
  view(): RowOptions
  rows(rows: readonly Row[]): void
  note(text: string, kind?: NoteKind): void
  line(text: string): void
  warning(text: string): void
  close(): void
}

export function createPrinter({
  screen,
  terminal,
  theme,
}: {
  readonly screen: Screen
  readonly terminal: ScreenTerminal
  readonly theme: () => Theme
}): Printer {
  let isClosed = false
  const view = (): RowOptions => ({ theme: theme(), columns: screen.size.columns })
  const rows = (printed: readonly Row[]): void => {
    if (printed.length > 0 && !isClosed) screen.print(printed)
  }
  const note = (text: string, kind: NoteKind = "note"): void => rows(noteRows(text, { ...view(), kind }))
  return {
    view,
    rows,
    note,
    line: (text) => {
      if (isClosed) terminal.line(text)
      else rows(textRows(text, screen.size.columns))
    },
    warning: (text) => {
      if (isClosed) terminal.errLine(text)
      else note(text, "warning")
    },
    close: () => {
      isClosed = true
    },
  }
}
