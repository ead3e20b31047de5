import { plainText } from "./printable-text.ts"
import { takeColumns, textColumns } from "./text-width.ts"

/** Wider lines are hard to read, even in a wide window. */
const MAX_WIDTH = 100
const MIN_WIDTH = 40

/** Wraps at spaces. `hanging` is the indent of the lines after the first. Words that are too long are not split. */
export function wrapText(
  text: string,
  options: { readonly columns: number; readonly indent: number; readonly hanging?: number },
): readonly string[] {
  const width = Math.max(MIN_WIDTH, Math.min(options.columns, MAX_WIDTH))
  const lines: string[] = []
  let line = " ".repeat(options.indent)
  let empty = true
  for (const word of text.split(" ").filter((entry) => entry !== "")) {
    if (!empty && line.length + 1 + word.length > width) {
      lines.push(line)
      line = " ".repeat(options.hanging ?? options.indent)
      empty = true
    }
    line += empty ? word : ` ${word}`
    empty = false
  }
  lines.push(line)
  return lines
}

/** Text with a style, for `styledLine` and the live area. A style inside the text is removed. */
export function bold(text: string, color: boolean): string {
  return color ? `\u001B[1m${plainText(text)}\u001B[22m` : text
}

export function dim(text: string, color: boolean): string {
  return color ? `\u{1B}[2m${plainText(text)}\u{1B}[0m` : text
}

/** Puts text on one line and removes control characters, because escape sequences in untrusted text could control the terminal. */
export function oneLine(text: string): string {
  return plainText(text.replaceAll(/\s+/gu, " ")).trim()
}

/** Returns one line of exactly `width` columns: cut with an ellipsis or padded with spaces. */
export function fitColumn(text: string, width: number): string {
  const line = oneLine(text)
  const columns = textColumns(line)
  if (columns <= width) return line + " ".repeat(width - columns)
  const cut = takeColumns(line, width - 1)
  return `${cut}…${" ".repeat(Math.max(0, width - 1 - textColumns(cut)))}`
}

/** Returns at most `width` columns of one line, cut with an ellipsis. */
export function cutToColumns(text: string, width: number): string {
  const line = oneLine(text)
  return textColumns(line) <= width ? line : `${takeColumns(line, Math.max(0, width - 1))}…`
}
