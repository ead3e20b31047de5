import type { Progress, ReportProgress } from "../base/progress.ts"
import type { Terminal } from "./terminal.ts"
import { cutToColumns, dim } from "./text-layout.ts"

/** A quick operation shows nothing. */
const SHOW_AFTER_MS = 500

/**
 * Shows how far an operation is on the last line of the terminal, and erases it at the end. Undefined in pipes and on a terminal that
 * cannot erase it.
 */
export function createOperationProgress(terminal: Terminal, now: () => number): ReportProgress | undefined {
  const { live } = terminal
  if (live === undefined || !terminal.movesCursor || !terminal.stderrIsTty) return undefined
  let since: number | undefined
  let isShown = false
  return (progress) => {
    if (progress === undefined) {
      if (isShown) live.hide()
      isShown = false
      since = undefined
      return
    }
    since ??= now()
    // Without a share the operation may not report again before its end.
    if (progress.total !== undefined && now() - since < SHOW_AFTER_MS) return
    live.show([dim(cutToColumns(textOf(progress), Math.max(8, terminal.columns - 1)), terminal.color)])
    isShown = true
  }
}

function textOf({ step, done, total }: Progress): string {
  if (done === undefined || total === undefined || total === 0) return `${step} …`
  return `${step}: ${Math.floor((100 * done) / total)} %`
}
