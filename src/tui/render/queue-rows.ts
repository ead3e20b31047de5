import { counted } from "../../base/counted.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import type { Row } from "../drawing.ts"
import type { RowOptions } from "./row-options.ts"
import { clipSpans, rowOf, span } from "./spans.ts"

const MAX_QUEUED = 3

/** The messages that are sent after the current turn, oldest first. */
export function queueRows(messages: readonly string[], { theme, columns }: RowOptions): readonly Row[] {
  const rest = messages.length - MAX_QUEUED
  const lines = [
    ...messages.slice(0, MAX_QUEUED).map((text) => `⏎ queued: ${oneLine(text)}`),
    ...(rest > 0 ? [`  … ${counted(rest, "more message")}`] : []),
  ]
  return lines.map((line) => rowOf(clipSpans([span(line, (text) => theme.style("dim", text))], columns)))
}
