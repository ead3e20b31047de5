import { oneLine } from "../../terminal/text-layout.ts"
import type { Row } from "../drawing.ts"
import { markdownRows } from "./markdown-stream.ts"
import type { RowOptions } from "./row-options.ts"
import { clipSpans, rowOf, span } from "./spans.ts"

/** A result that arrives between turns, for example of a background task, between two rules. */
export function panelRows(
  { title, text }: { readonly title: string; readonly text: string },
  { theme, columns }: RowOptions,
): readonly Row[] {
  const border = (part: string): string => theme.paint("response_border", part)
  const head = clipSpans(
    [span("── ", border), span(oneLine(title), (part) => theme.style("bold", part)), span(" ", border)],
    columns,
  )
  return [
    rowOf(head) + border("─".repeat(Math.max(0, Math.min(columns, MAX_RULE_COLUMNS) - head.columns))),
    ...markdownRows(text, { theme, columns }),
    border("─".repeat(Math.min(columns, MAX_RULE_COLUMNS))),
  ]
}

const MAX_RULE_COLUMNS = 80
