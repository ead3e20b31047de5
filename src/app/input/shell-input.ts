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

/**
 * The commands inside a message, each on one line with balanced braces. In code that the user quotes, `{!` means something else, so
 * code blocks, `code` and lines that begin with `>` have none.
 */
export function inlineCommands(text: string): readonly InlineCommand[] {
  const pairs = bracePairs(text)
  const quoted = quotedRanges(text)
  const found: InlineCommand[] = []
  for (let start = text.indexOf("{!"); start !== -1; start = text.indexOf("{!", start + 1)) {
    const end = pairs.get(start)
    const written = end === undefined ? "" : text.slice(start + 2, end)
    const command = written.includes("\n") ? "" : written.trim()
    const isQuoted = quoted.some(([from, to]) => from <= start && start < to)
    if (end === undefined || command === "" || isQuoted) continue
    found.push({ start, end: end + 1, command })
    start = end
  }
  return found
}

function quotedRanges(text: string): readonly (readonly [from: number, to: number])[] {
  const quotes = /^[ \t]*(`{3,}|~{3,})[^]*?(?:^[ \t]*\1|$(?![^]))|^[ \t]*>.*$|`[^`\n]+`/gmu
  return Array.from(text.matchAll(quotes), ({ 0: quote, index }) => [index, index + quote.length] as const)
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
