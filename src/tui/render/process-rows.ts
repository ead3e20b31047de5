import { compactDuration } from "../../base/compact-count.ts"
import type { ProcessView } from "../../exec/background/process-view.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import type { Row } from "../drawing.ts"
import type { RowOptions } from "./row-options.ts"
import { clipSpans, rowOf, span } from "./spans.ts"
import type { Paint } from "./spans.ts"

export type ShownProcess = Pick<ProcessView, "id" | "command" | "uptimeMs" | "state" | "isDetached">

/** The background processes, running ones first. */
export function processRows(
  processes: readonly ShownProcess[],
  { theme, columns, maxRows = 20 }: RowOptions & { readonly maxRows?: number },
): readonly Row[] {
  const sorted = processes.toSorted((a, b) => Number(isEnded(a)) - Number(isEnded(b)))
  const hidden = sorted.length - maxRows
  const dim: Paint = (text) => theme.style("dim", text)
  const error: Paint = (text) => theme.paint("ui_error", text)
  return [
    ...sorted.slice(0, maxRows).map((process) => {
      const tail = `  ${stateText(process)}`
      const head = clipSpans(
        [span(`⚙ ${process.id}  ${oneLine(process.command)}`)],
        Math.max(16, columns - tail.length),
      )
      const paint = isFailed(process) ? error : dim
      return rowOf(clipSpans([...head.spans, span(tail, paint)], columns))
    }),
    ...(hidden > 0 ? [rowOf(clipSpans([span(`  … ${hidden} more`, dim)], columns))] : []),
  ]
}

/** All running ones on one row. */
export function processSummaryRow(processes: readonly ShownProcess[], { theme, columns }: RowOptions): Row {
  const commands = processes.map(({ command }) => oneLine(command)).join(" · ")
  const text = `⚙ ${processes.length} running: ${commands}`
  return rowOf(clipSpans([span(text, (part) => theme.style("dim", part))], columns))
}

function isEnded({ state }: ShownProcess): boolean {
  return state.status === "exited"
}

function isFailed({ state }: ShownProcess): boolean {
  return state.status === "exited" && (state.exitCode ?? 1) !== 0
}

function stateText({ state, uptimeMs, isDetached }: ShownProcess): string {
  const time = compactDuration(uptimeMs / 1000)
  if (state.status === "running") return `running ${time}${isDetached ? ", from an earlier Hermes" : ""}`
  if (state.reason !== "exited") return state.reason
  return state.exitCode === undefined ? "exited" : `exit ${state.exitCode} after ${time}`
}
