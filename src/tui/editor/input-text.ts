import { stripAnsi } from "../../base/strip-ansi.ts"
import { scrubSurrogates } from "../../base/text.ts"
import type { Draft } from "../../terminal/editor/draft.ts"
import { deleteRange } from "../../terminal/editor/draft.ts"

/** Text from outside for the draft: lines end with LF, and there are no control characters and nothing that a terminal has reported. */
export function cleanInput(text: string): string {
  if (!UNCLEAN.test(text) && text.isWellFormed()) return text
  const lines = text.replaceAll(/\r\n?/gu, "\n")
  return scrubSurrogates(
    stripAnsi(lines)
      .replaceAll(LEAKED, "")
      .replaceAll(/(?![\n\t])\p{Cc}/gu, ""),
  )
}

/**
 * Removes a report of the terminal that ends at the cursor. On a slow connection a sequence can be cut in two: its beginning is taken for
 * the Escape key, and the rest arrives like typed text.
 */
export function withoutLeakedReport(draft: Draft): Draft {
  const [leaked] = LEAKED_END.exec(draft.text.slice(Math.max(0, draft.cursor - MAX_REPORT_CHARS), draft.cursor)) ?? []
  return leaked === undefined ? draft : deleteRange(draft, draft.cursor - leaked.length, draft.cursor)
}

/** Mouse reports and the marks around pasted text, without the Escape character. */
const REPORT = String.raw`\[<\d{1,4};\d{1,5};\d{1,5}[Mm]|\[20[01]~`
const LEAKED = new RegExp(REPORT, "gu")
const LEAKED_END = new RegExp(`(?:${REPORT})$`, "u")
const MAX_REPORT_CHARS = 24
const UNCLEAN = new RegExp(String.raw`(?![\n\t])\p{Cc}|${REPORT}`, "u")
