import { plainText } from "../../terminal/printable-text.ts"
import type { Row } from "../drawing.ts"
import type { Theme } from "../theme/theme.ts"
import type { RowOptions } from "./row-options.ts"
import { rowOf, span, wrapSpans } from "./spans.ts"
import type { Paint } from "./spans.ts"

export type NoteKind = "note" | "ok" | "warning" | "error"

const SYMBOLS: Readonly<Record<NoteKind, string>> = { note: "·", ok: "✓", warning: "⚠", error: "✗" }

/** A remark of Hermes that is not part of the answer: the reply of a command, a retry, why a turn ended. */
export function noteRows(
  text: string,
  { theme, columns, kind }: RowOptions & { readonly kind: NoteKind },
): readonly Row[] {
  const paint = paintOf(kind, theme)
  const shown = plainText(text).replaceAll("\t", "    ").replace(/\s+$/u, "")
  return shown
    .split("\n")
    .flatMap((line) => {
      const [indent = ""] = /^ {0,20}/u.exec(line) ?? []
      return wrapSpans([span(line.trimStart(), paint)], columns - 2 - indent.length).map((part) => indent + rowOf(part))
    })
    .map((row, index) => `${index === 0 ? paint(SYMBOLS[kind]) : " "} ${row}`.trimEnd())
}

function paintOf(kind: NoteKind, theme: Theme): Paint {
  switch (kind) {
    case "note":
      return (text) => theme.style("dim", text)
    case "ok":
      return (text) => theme.paint("ui_ok", text)
    case "warning":
      return (text) => theme.paint("ui_warn", text)
    case "error":
      return (text) => theme.paint("ui_error", text)
    default:
      return kind satisfies never
  }
}
