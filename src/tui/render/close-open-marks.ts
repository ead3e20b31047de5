/**
 * Completes the inline Markdown of a line that is still being written, so that bold text and code do not appear with their marks first
 * and change when the end mark arrives.
 */
export function closeOpenMarks(line: string): string {
  const text = withoutUnfinishedLink(line)
  const marks: string[] = []
  for (const [mark] of text.matchAll(MARK)) {
    const last = marks.at(-1)
    if (mark.startsWith("\\")) continue
    if (mark === last) marks.pop()
    else if (last === undefined || !last.startsWith("`")) marks.push(mark)
  }
  const open = marks.filter((mark) => text.lastIndexOf(mark) + mark.length < text.length)
  // A mark at the end has no text yet.
  const shown = open.length < marks.length ? text.slice(0, text.length - (marks.at(-1)?.length ?? 0)) : text
  const closed = shown.trimEnd()
  return open.length === 0 ? shown : closed + open.toReversed().join("")
}

const MARK = /\\.|`+|\*\*|~~|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])/gu

/** `[text](http://exa` is shown as its text. */
function withoutUnfinishedLink(line: string): string {
  const unfinished = /!?\[([^\][]*)\]\([^()\s]*$/u.exec(line)
  return unfinished === null ? line : line.slice(0, unfinished.index) + (unfinished[1] ?? "")
}
