import { expect, test } from "vitest"

import { drawFrame, type Frame, type Shown } from "./draw-frame.ts"
import { rowCells } from "./row-cells.ts"

const cells = (row: string) => rowCells(row, 40)
const SHOWN: Shown = {
  rows: [cells("The answer is so f"), cells("❯ ")],
  cursor: { row: 1, column: 2 },
  cursorVisible: true,
  wraps: true,
}
const printing = (row: string): Frame => ({
  printed: [{ row: cells(row), wraps: false }],
  live: [cells("More text"), cells("❯ ")],
  cursor: { row: 1, column: 2 },
  size: { columns: 40, rows: 10 },
})

test("of a printed row the new part is written, or all of it where the rows may be elsewhere", () => {
  const frame = printing("The answer is so far.")
  expect(drawFrame(SHOWN, frame).bytes).not.toContain("The answer")
  expect(drawFrame(SHOWN, { ...frame, writesWholeRows: true }).bytes).toContain("The answer is so far.")
  // What is there already is not written again.
  const same = { ...printing("The answer is so f"), writesWholeRows: true }
  expect(drawFrame(SHOWN, same).bytes).not.toContain("The answer")
})
