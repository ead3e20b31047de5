import { ellipsize } from "../../base/text.ts"
import { visibleName } from "../../base/visible-text.ts"

const MAX_CHARS = 2000

/** What a check found, on one line: a command chooses the names of its files and could imitate another message with them. */
export function noticeText(text: string): string {
  return ellipsize(visibleName(text), MAX_CHARS)
}
