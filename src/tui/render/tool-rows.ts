import type { ShownCall, ToolEnd, ToolStart } from "../../protocol/events.ts"
import { counted } from "../../base/counted.ts"
import { visibleName, visibleText } from "../../base/visible-text.ts"
import { plainText } from "../../terminal/printable-text.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import { textColumns } from "../../terminal/text-width.ts"
import type { Row } from "../drawing.ts"
import type { Theme } from "../theme/theme.ts"
import { diffRows } from "./diff-rows.ts"
import type { RowOptions } from "./row-options.ts"
import { clipSpans, cutSpans, rowOf, span } from "./spans.ts"
import type { Span } from "./spans.ts"
import { spinnerFrame } from "./spinner.ts"
import { failureSuffix, isFailedCall } from "./tool-failure.ts"

/** A call that has not ended. */
export interface RunningTool {
  readonly start: ToolStart
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** What it has printed so far, or the end of it. */
  readonly output?: string
}

export interface EndedTool {
  readonly start: ToolStart
  readonly end: ToolEnd
}

export interface EndedToolOptions extends RowOptions {
  /** Arguments and results too. */
  readonly verbose?: boolean
  readonly diffs?: boolean
}

const VERB_COLUMNS = 9
const MAX_RUNNING = 6
const MAX_OUTPUT_LINES = 10
const MAX_LIVE_OUTPUT_LINES = 3
const MAX_ARGUMENT_ROWS = 3
const MAX_ARGUMENTS = 12
/** More than the shown lines of an output can contain. */
const MAX_OUTPUT_CHARS = 20_000

/** The line of a call that has ended, then its diff, or the end of the output of a failed command. */
export function endedToolRows({ start, end }: EndedTool, options: EndedToolOptions): readonly Row[] {
  const { theme } = options
  const suffix = failureSuffix(end)
  const detail = start.label?.showsResult === true && !isFailedCall(end) ? end.summary : start.preview
  const tail = [
    span(`  ${seconds(end.durationMs)}`, (text) => theme.style("dim", text)),
    ...(suffix === "" ? [] : [span(` ${suffix}`, (text) => theme.paint("ui_error", text))]),
  ]
  return [
    toolRow({ start, detail, tail }, options),
    ...(options.verbose === true ? toolDetailRows({ start, end }, options) : failedOutput(end, options)),
    ...(options.diffs === false || end.diff === undefined ? [] : diffRows(end.diff, options)),
  ]
}

/** The calls that run now: a row for each, with a spinner, and the last lines of the output if there is only one. */
export function runningToolRows(
  tools: readonly RunningTool[],
  options: RowOptions & { readonly now: number },
): readonly Row[] {
  const { theme, now } = options
  const shown = tools.slice(0, MAX_RUNNING)
  const rest = tools.length - shown.length
  const [only, ...others] = tools
  return [
    ...shown.map(({ start, startedAt }) => {
      const elapsed = Math.max(0, now - startedAt)
      const tail = [span(`  ${seconds(elapsed)}`, (text) => theme.style("dim", text))]
      return toolRow({ start, detail: start.preview, tail, frame: spinnerFrame(theme, elapsed) }, options)
    }),
    ...(rest > 0 ? [theme.style("dim", `${theme.toolPrefix} … ${counted(rest, "more call")}`)] : []),
    ...(only !== undefined && others.length === 0
      ? outputRows(only.output ?? "", { ...options, maxLines: MAX_LIVE_OUTPUT_LINES })
      : []),
  ]
}

/** The arguments and the result of a call, for the mode `verbose` and to expand the last call. */
export function toolDetailRows({ start, end }: EndedTool, options: RowOptions): readonly Row[] {
  const entries = Object.entries(start.call.args)
  const hidden = entries.length - MAX_ARGUMENTS
  return [
    ...entries.slice(0, MAX_ARGUMENTS).flatMap(([name, value]) => argumentRows(name, value, options)),
    ...(hidden > 0 ? [indented([span(`… ${counted(hidden, "more argument")}`)], options)] : []),
    ...wrappedRows(`→ ${plainText(end.summary)}`, options),
    ...outputRows(end.outputTail ?? "", { ...options, maxLines: MAX_OUTPUT_LINES }),
  ]
}

interface ToolLine {
  readonly start: ToolStart
  readonly detail: string
  readonly tail: readonly Span[]
  readonly frame?: string
}

/** `┊ 💻 $         npm test  3.2s`. The detail is shortened so that everything else fits. */
function toolRow({ start, detail, tail, frame }: ToolLine, { theme, columns }: RowOptions): Row {
  const { call, label } = start
  const emoji = emojiOf(call, label?.emoji, theme)
  const verb = oneLine(label?.verb ?? call.name)
  const head: readonly Span[] = [
    span(`${theme.toolPrefix} `, (text) => theme.style("dim", text)),
    span(`${call.parentId === undefined ? "" : "  "}${frame === undefined ? "" : `${frame} `}`),
    span(`${emoji}${" ".repeat(Math.max(0, 2 - textColumns(emoji)))} `),
    span(`${verb}${" ".repeat(Math.max(0, VERB_COLUMNS - textColumns(verb)))} `, (text) =>
      theme.paint("ui_label", text),
    ),
  ]
  const room = columns - widthOf(head) - widthOf(tail)
  const middle = clipSpans([span(visibleDetail(start, detail))], Math.max(MIN_DETAIL_COLUMNS, room))
  return rowOf(clipSpans([...head, ...middle.spans, ...tail], columns))
}

const MIN_DETAIL_COLUMNS = 6

/** Different names look different. The lines of a command are joined. */
function visibleDetail({ subjects }: ToolStart, detail: string): string {
  const isName = subjects.some(({ kind }) => kind === "path")
  return isName ? visibleName(detail) : visibleText(detail.replaceAll(/\s+/gu, " ").trim()).text
}

const DEFAULT_EMOJI = "⚡"

function emojiOf({ name }: ShownCall, own: string | undefined, theme: Theme): string {
  const chosen = Object.hasOwn(theme.toolEmojis, name) ? theme.toolEmojis[name] : undefined
  return oneLine(chosen ?? own ?? DEFAULT_EMOJI)
}

function failedOutput(end: ToolEnd, options: RowOptions): readonly Row[] {
  return isFailedCall(end) ? outputRows(end.outputTail ?? "", { ...options, maxLines: MAX_OUTPUT_LINES }) : []
}

function outputRows(output: string, options: RowOptions & { readonly maxLines: number }): readonly Row[] {
  return plainText(withoutOverwritten(output.slice(-MAX_OUTPUT_CHARS)))
    .replace(/\s+$/u, "")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-options.maxLines)
    .map((line) => indented([span(line.replaceAll("\t", "    "))], options))
}

/** A carriage return begins the line anew, as progress bars do: the last version is left. */
function withoutOverwritten(output: string): string {
  return output.replaceAll(/^.*\r(?=[^\r\n])/gmu, "")
}

function argumentRows(name: string, value: unknown, options: RowOptions): readonly Row[] {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "")
  const rows = wrappedRows(`${oneLine(name)}: ${plainText(text.slice(0, MAX_OUTPUT_CHARS))}`, options)
  const hidden = rows.length - MAX_ARGUMENT_ROWS
  if (hidden <= 0) return rows
  return [...rows.slice(0, MAX_ARGUMENT_ROWS), indented([span(`… ${counted(hidden, "more row")}`)], options)]
}

function wrappedRows(text: string, options: RowOptions): readonly Row[] {
  const { theme, columns } = options
  const width = columns - textColumns(theme.toolPrefix) - INDENT.length
  return text
    .replaceAll("\t", "    ")
    .split("\n")
    .flatMap((line) => cutSpans([span(line)], width))
    .map(({ spans }) => indented(spans, options))
}

const INDENT = "   "

function indented(spans: readonly Span[], { theme, columns }: RowOptions): Row {
  const line = clipSpans([span(`${theme.toolPrefix}${INDENT}`), ...spans], columns)
  return theme.style("dim", rowOf(line).trimEnd())
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)}s`
}

function widthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { text }) => sum + textColumns(text), 0)
}
