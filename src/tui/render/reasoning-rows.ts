import { counted } from "../../base/counted.ts"
import { plainText } from "../../terminal/printable-text.ts"
import type { Row } from "../drawing.ts"
import type { RowOptions } from "./row-options.ts"
import { rowOf, span, wrapSpans } from "./spans.ts"

/** What the model thought before it answered, apart from the answer. */
export function reasoningRows(
  text: string,
  { theme, columns, folded = false }: RowOptions & { readonly folded?: boolean },
): readonly Row[] {
  const clean = plainText(text).replaceAll("\t", "    ").trim()
  if (clean === "") return []
  if (folded) return [theme.style("dim", `▸ Reasoning, ${counted(wordCount(clean), "word")}`)]
  return clean
    .split(/\n{2,}/u)
    .flatMap((paragraph, index) => [
      ...(index === 0 ? [] : [""]),
      ...wrapSpans([span(paragraph)], columns - MARK.length).map(rowOf),
    ])
    .map((row) => theme.style("dim", theme.style("italic", `${MARK}${row}`.trimEnd())))
}

/** The end of what the model thinks at the moment. Costs the same however long it thinks. */
export function reasoningTail(
  text: string,
  { theme, columns, maxRows = 4 }: RowOptions & { readonly maxRows?: number },
): readonly Row[] {
  return reasoningRows(text.slice(-2 * maxRows * columns), { theme, columns }).slice(-maxRows)
}

const MARK = "┆ "

function wordCount(text: string): number {
  let count = 0
  for (const _ of text.matchAll(/\S+/gu)) count += 1
  return count
}
