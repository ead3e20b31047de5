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

export function bold(text: string, color: boolean): string {
  return color ? `\u001B[1m${text}\u001B[22m` : text
}

/** Puts text on one line and removes control characters, because escape sequences in untrusted text could control the terminal. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim()
}

/** Removes control characters other than newline and tab, because escape sequences in untrusted text could control the terminal. */
export function withoutControlCharacters(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(/(?![\n\t])\p{Cc}/gu, "")
}

/** Returns one line of exactly `width` columns: cut with an ellipsis or padded with spaces. */
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
