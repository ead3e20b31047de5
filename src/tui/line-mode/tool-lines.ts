import { visibleText } from "../../base/visible-text.ts"
import type { ToolEnd, ToolStart } from "../../protocol/events.ts"
import { plainText } from "../../terminal/printable-text.ts"
import { cutToColumns } from "../../terminal/text-layout.ts"
import { takeColumns } from "../../terminal/text-width.ts"
import { isFailedCall } from "../render/tool-failure.ts"

export interface ToolLineOptions {
  readonly columns: number
  readonly color: boolean
}

export interface ToolResultOptions extends ToolLineOptions {
  /** What the call does; shown when other calls ran at the same time. */
  readonly preview: string
}

const MAX_DIFF_LINES = 20
const MAX_OUTPUT_LINES = 10
const MAX_SUMMARY_COLUMNS = 200
const INDENT = "    "

/** The line for a call that starts. */
export function toolStartLine({ call, preview }: ToolStart, { columns, color }: ToolLineOptions): string {
  return paint(
    `→ ${call.name} ${cutToColumns(visibleText(preview).text, Math.max(20, columns - call.name.length - 4))}`,
    "dim",
    color,
  )
}

/**
 * The lines for a call that has ended: how it ended, then the change of a file, or the end of the output of a failed command.
 */
export function toolEndLines(event: ToolEnd, options: ToolResultOptions): readonly string[] {
  const failed = isFailedCall(event)
  const seconds = event.durationMs >= 1000 ? ` (${(event.durationMs / 1000).toFixed(1)} s)` : ""
  const call =
    options.preview === ""
      ? event.call.name
      : `${event.call.name} ${cutToColumns(visibleText(options.preview).text, 40)}`
  const head = `  ${failed ? "✗" : "✓"} ${call}: ${cutToColumns(event.summary, MAX_SUMMARY_COLUMNS)}${seconds}`
  return [
    paint(head, failed ? "red" : "dim", options.color),
    ...diffLines(event.diff ?? "", options),
    ...(failed ? outputLines(event.outputTail ?? "", options) : []),
  ]
}

function diffLines(diff: string, { columns, color }: ToolLineOptions): readonly string[] {
  const lines = linesOf(diff)
  const shown = lines.slice(0, MAX_DIFF_LINES).map((line) => paint(cut(line, columns), diffStyle(line), color))
  const rest = lines.length - shown.length
  return rest > 0 ? [...shown, paint(`${INDENT}+${rest} more`, "dim", color)] : shown
}

function outputLines(output: string, { columns, color }: ToolLineOptions): readonly string[] {
  return linesOf(output)
    .slice(-MAX_OUTPUT_LINES)
    .map((line) => paint(cut(line, columns), "dim", color))
}

function linesOf(text: string): readonly string[] {
  const clean = plainText(text).replace(/\n+$/, "")
  return clean === "" ? [] : clean.split("\n")
}

function cut(line: string, columns: number): string {
  return INDENT + takeColumns(line.replaceAll("\t", "  "), Math.max(20, columns - INDENT.length - 1))
}

type Style = "dim" | "red" | "green" | "cyan" | "none"

function diffStyle(line: string): Style {
  if (line.startsWith("+++") || line.startsWith("---")) return "dim"
  if (line.startsWith("+")) return "green"
  if (line.startsWith("-")) return "red"
  return line.startsWith("@@") ? "cyan" : "none"
}

const CODES: Readonly<Record<Exclude<Style, "none">, number>> = { dim: 2, red: 31, green: 32, cyan: 36 }

export function paint(text: string, style: Style, color: boolean): string {
  return !color || style === "none" ? text : `\u{1B}[${CODES[style]}m${plainText(text)}\u{1B}[0m`
}
