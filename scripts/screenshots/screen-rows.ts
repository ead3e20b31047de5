import xterm from "@xterm/headless"
import type { IBufferCell, Terminal } from "@xterm/headless"

import type { Palette } from "./palette.ts"

/** A character on the screen. Some occupy two columns. */
export interface Cell {
  readonly text: string
  readonly width: number
  readonly style: Style
}

export interface Style {
  readonly color: string
  /** Undefined is the background of the terminal. */
  readonly background: string | undefined
  readonly bold: boolean
  readonly dim: boolean
  readonly italic: boolean
  readonly underline: boolean
  readonly strikethrough: boolean
}

export type ScreenRow = readonly Cell[]

export interface Screen {
  readonly rows: readonly ScreenRow[]
  /** Undefined while it is hidden. */
  readonly cursor: { readonly row: number; readonly column: number } | undefined
}

export interface ScreenOptions {
  readonly columns: number
  readonly rows: number
  readonly palette: Palette
}

/** A terminal that is fed with recorded output, piece by piece. */
export interface Replay extends Disposable {
  write(output: string): Promise<void>
  screen(): Screen
}

export function openReplay({ columns, rows, palette }: ScreenOptions): Replay {
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 1000, allowProposedApi: true })
  let isCursorShown = true
  return {
    write: async (output) => {
      const [last] = output.match(CURSOR_MODE)?.slice(-1) ?? []
      if (last !== undefined) isCursorShown = last.endsWith("h")
      const { promise, resolve } = Promise.withResolvers<void>()
      terminal.write(output, resolve)
      await promise
    },
    screen: () => {
      const { baseY, cursorX, cursorY } = terminal.buffer.active
      return {
        rows: Array.from({ length: rows }, (_, row) => cellsOf(terminal, baseY + row, palette)),
        cursor: isCursorShown ? { row: cursorY, column: cursorX } : undefined,
      }
    },
    [Symbol.dispose]: () => terminal.dispose(),
  }
}

// eslint-disable-next-line no-control-regex -- the control sequence is what this looks for
const CURSOR_MODE = /\u001B\[\?25[hl]/gu

/** Without the empty rows at the end. */
export function trimmedRows(rows: readonly ScreenRow[]): readonly ScreenRow[] {
  return rows.slice(0, rows.findLastIndex((row) => row.some((cell) => !isBlank(cell))) + 1)
}

export function isBlank({ text, style }: Cell): boolean {
  return text === " " && style.background === undefined && !style.underline
}

export function isSameStyle(a: Style, b: Style): boolean {
  return (
    a.color === b.color &&
    a.background === b.background &&
    a.bold === b.bold &&
    a.dim === b.dim &&
    a.italic === b.italic &&
    a.underline === b.underline &&
    a.strikethrough === b.strikethrough
  )
}

function cellsOf(terminal: Terminal, index: number, palette: Palette): ScreenRow {
  const line = terminal.buffer.active.getLine(index)
  return Array.from({ length: terminal.cols }, (_, column) => line?.getCell(column)).flatMap((cell) =>
    cell === undefined || cell.getWidth() === 0
      ? []
      : [
          {
            text: cell.getChars() === "" ? " " : cell.getChars(),
            width: cell.getWidth(),
            style: styleOf(cell, palette),
          },
        ],
  )
}

function styleOf(cell: IBufferCell, palette: Palette): Style {
  const color = foregroundOf(cell, palette)
  const background = backgroundOf(cell, palette)
  const isInverse = cell.isInverse() !== 0
  return {
    color: isInverse ? (background ?? palette.background) : color,
    background: isInverse ? color : background,
    bold: cell.isBold() !== 0,
    dim: cell.isDim() !== 0,
    italic: cell.isItalic() !== 0,
    underline: cell.isUnderline() !== 0,
    strikethrough: cell.isStrikethrough() !== 0,
  }
}

function foregroundOf(cell: IBufferCell, palette: Palette): string {
  if (cell.isFgRGB()) return hexColor(cell.getFgColor())
  return cell.isFgPalette() ? (palette.colors[cell.getFgColor()] ?? palette.foreground) : palette.foreground
}

function backgroundOf(cell: IBufferCell, palette: Palette): string | undefined {
  if (cell.isBgRGB()) return hexColor(cell.getBgColor())
  return cell.isBgPalette() ? palette.colors[cell.getBgColor()] : undefined
}

function hexColor(color: number): string {
  return `#${color.toString(16).padStart(6, "0")}`
}
