import { expect, test } from "vitest"
import { recordingTerminal } from "../../test/support/cli-home.ts"
import type { LiveArea } from "./live-area.ts"
import { createOperationProgress } from "./operation-progress.ts"
import type { Terminal } from "./terminal.ts"

function terminalWithScreen(): { readonly terminal: Terminal; readonly shown: string[] } {
  const shown: string[] = []
  const live: LiveArea = {
    startLine: () => undefined,
    show: (rows) => void shown.push(rows.join("\n")),
    hide: () => void shown.push(""),
    commit: () => undefined,
    control: () => undefined,
  }
  return { terminal: { ...recordingTerminal(), live, movesCursor: true, stderrIsTty: true, columns: 80 }, shown }
}

test("a share is shown after half a second, a step without one at once, and both are erased", () => {
  const { terminal, shown } = terminalWithScreen()
  let now = 0
  const report = createOperationProgress(terminal, () => now)
  report?.({ step: "checking", done: 1, total: 4 })
  expect(shown).toEqual([])
  now = 600
  report?.({ step: "checking", done: 2, total: 4 })
  report?.({ step: "rewriting" })
  report?.(undefined)
  report?.(undefined)
  expect(shown).toEqual(["checking: 50 %", "rewriting …", ""])
})

test("nothing is shown in a pipe, nor on a terminal that cannot erase it", () => {
  const { terminal } = terminalWithScreen()
  expect(createOperationProgress({ ...terminal, stderrIsTty: false }, () => 0)).toBeUndefined()
  expect(createOperationProgress({ ...terminal, movesCursor: false }, () => 0)).toBeUndefined()
})
