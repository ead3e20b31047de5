import { ellipsize } from "../../base/text.ts"
import { visibleName } from "../../base/visible-text.ts"

const MAX_CHARS = 2000

/** What a check found, on one line: a command chooses the names of its files and could imitate another message with them. */
export function noticeText(text: string): string {
  return ellipsize(visibleName(text), MAX_CHARS)
}

/** The same for all that a check found: a command can create as many files as it wants. */
export function noticeTexts(texts: readonly string[]): readonly string[] {
  const shown = texts.slice(0, MAX_NOTICES).map(noticeText)
  const rest = texts.length - shown.length
  return rest === 0 ? shown : [...shown, `The check found ${rest} more such things, which are not shown.`]
}

const MAX_NOTICES = 60

/** The text, unless the user was notified of it before. */
export function once(text: string, reported: Set<string>): readonly string[] {
  if (reported.has(text)) return []
  reported.add(text)
  return [text]
}
