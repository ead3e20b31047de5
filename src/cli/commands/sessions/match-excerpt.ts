import { bold } from "../../../terminal/text-layout.ts"
import { takeColumns, textColumns } from "../../../terminal/text-width.ts"

/**
 * At most `columns` of a line in which `>>>` and `<<<` enclose each match, cut so that the first match is visible. Matches are bold
 * where colour is used.
 */
export function matchExcerpt(
  marked: string,
  { columns, color }: { readonly columns: number; readonly color: boolean },
): string {
  const { text, matches } = parseMarks(marked)
  const start = textColumns(text) <= columns ? 0 : startBefore(text, matches[0]?.start ?? 0, columns)
  const before = start === 0 ? "" : "…"
  const room = columns - before.length
  const rest = text.slice(start)
  const isCut = textColumns(rest) > room
  const shown = isCut ? takeColumns(rest, room - 1) : rest
  const end = start + shown.length
  let excerpt = before
  let copied = start
  for (const match of matches) {
    if (match.start < copied || match.start >= end) continue
    excerpt += text.slice(copied, match.start) + bold(text.slice(match.start, Math.min(match.end, end)), color)
    copied = Math.min(match.end, end)
  }
  return `${excerpt}${text.slice(copied, end)}${isCut ? "…" : ""}`
}

interface MarkedText {
  readonly text: string
  readonly matches: readonly { readonly start: number; readonly end: number }[]
}

function parseMarks(marked: string): MarkedText {
  const matches: { start: number; end: number }[] = []
  let text = ""
  let copied = 0
  for (const { 0: whole, 1: match = "", index } of marked.matchAll(/>>>(.*?)<<</gu)) {
    text += marked.slice(copied, index)
    matches.push({ start: text.length, end: text.length + match.length })
    text += match
    copied = index + whole.length
  }
  return { text: text + marked.slice(copied), matches }
}

/** A third of the line may come before the match. Starts at a word, so that no character is split. */
function startBefore(text: string, match: number, columns: number): number {
  const from = match - Math.floor(columns / 3)
  if (from <= 0) return 0
  const word = text.indexOf(" ", from) + 1
  return word === 0 || word > match ? match : word
}
