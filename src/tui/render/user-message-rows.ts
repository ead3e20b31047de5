import { counted } from "../../base/counted.ts"
import { plainText } from "../../terminal/printable-text.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import { textColumns } from "../../terminal/text-width.ts"
import type { Row } from "../drawing.ts"
import type { RowOptions } from "./row-options.ts"
import { rowOf, span, wrapSpans } from "./spans.ts"
import type { Paint } from "./spans.ts"

const MAX_ROWS = 60
/** More than the shown rows can contain. */
const MAX_CHARS = 30_000

/** A message of the user in the transcript, behind the prompt symbol. */
export function userMessageRows(
  text: string,
  { theme, columns, isCommand = false }: RowOptions & { readonly isCommand?: boolean },
): readonly Row[] {
  const paint: Paint = isCommand ? (part) => theme.paint("ui_accent", part) : (part) => theme.style("bold", part)
  const symbol = oneLine(theme.branding.promptSymbol)
  const indent = textColumns(symbol) + 1
  const shown = plainText(text.slice(0, MAX_CHARS)).replaceAll("\t", "    ").trim()
  const rows = wrapSpans([span(shown, paint)], columns - indent).map(rowOf)
  const hidden = Math.max(0, rows.length - MAX_ROWS)
  return [
    ...rows
      .slice(0, MAX_ROWS)
      .map((row, index) => `${index === 0 ? `${theme.paint("prompt", symbol)} ` : " ".repeat(indent)}${row}`.trimEnd()),
    ...(hidden > 0 || text.length > MAX_CHARS
      ? [theme.style("dim", `${" ".repeat(indent)}… ${counted(Math.max(1, hidden), "more row")}`)]
      : []),
  ]
}
