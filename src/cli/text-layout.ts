/** Readable lines are no wider than this, however wide the window is. */
const WIDEST = 100
const NARROWEST = 40

/** Wraps at spaces. `hanging` indents the lines after the first further. A word that is too long stays whole. */
export function wrapText(
  text: string,
  options: { readonly columns: number; readonly indent: number; readonly hanging?: number },
): readonly string[] {
  const width = Math.max(NARROWEST, Math.min(options.columns, WIDEST))
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

export function bold(text: string, color: boolean): string {
  return color ? `\u001B[1m${text}\u001B[22m` : text
}

/** Text of unknown origin on one line: control characters, escape sequences included, could take the terminal over. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim()
}

/** Text of unknown origin over several lines; only newlines and tabs survive of the control characters. */
export function safeText(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(/(?![\n\t])\p{Cc}/gu, "")
}

/** One line of exactly `width` columns: cut with an ellipsis or filled with blanks. */
export function fitColumn(text: string, width: number): string {
  let fitted = ""
  let used = 0
  const line = oneLine(text)
  for (const character of line) {
    const columns = characterColumns(character)
    if (used + columns > width - 1 && fitted.length + character.length < line.length) {
      return `${fitted}…${" ".repeat(width - used - 1)}`
    }
    fitted += character
    used += columns
  }
  return fitted + " ".repeat(Math.max(0, width - used))
}

function characterColumns(character: string): number {
  if (/\p{Mn}|\u200D|\uFE0F/u.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}

const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}/u

/** `1 file`, `2 files`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`
}
