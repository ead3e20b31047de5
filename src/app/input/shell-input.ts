/** The command of a line that begins with `!`; undefined for any other text. */
export function shellLineCommand(text: string): string | undefined {
  return /^!\s*([^\s!][^]*)$/u.exec(text.trim())?.[1]?.trimEnd()
}

/** A command inside a message, `{!command}`. */
export interface InlineCommand {
  readonly start: number
  readonly end: number
  readonly command: string
}

/** The commands inside a message. Braces in a command are balanced; one without an end is text. */
export function inlineCommands(text: string): readonly InlineCommand[] {
  const pairs = bracePairs(text)
  const found: InlineCommand[] = []
  for (let start = text.indexOf("{!"); start !== -1; start = text.indexOf("{!", start + 1)) {
    const end = pairs.get(start)
    const command = end === undefined ? "" : text.slice(start + 2, end).trim()
    if (end === undefined || command === "") continue
    found.push({ start, end: end + 1, command })
    start = end
  }
  return found
}

/** The index of each opening brace that is closed → the index of its closing one. */
function bracePairs(text: string): ReadonlyMap<number, number> {
  const pairs = new Map<number, number>()
  const open: number[] = []
  for (const { 0: brace, index } of text.matchAll(/[{}]/gu)) {
    const opening = brace === "{" ? undefined : open.pop()
    if (brace === "{") open.push(index)
    else if (opening !== undefined) pairs.set(opening, index)
  }
  return pairs
}
