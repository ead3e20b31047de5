import { expect, test } from "vitest"

import type { Shown } from "./draw-frame.ts"
import { createRecentFrames, type RecentFrame } from "./recent-frames.ts"
import { type Reflow, rowsAboveCursor } from "./reflow.ts"
import { rowCells } from "./row-cells.ts"

function shownWith(rows: readonly string[], cursor: Shown["cursor"]): Shown {
  return { rows: rows.map((row) => rowCells(row, 100)), cursor, cursorVisible: true, wraps: true }
}

test.each<readonly [Reflow, number]>([
  // 100 columns make three rows of 40, 20 wide characters at an odd width make two of 39, and the cursor is in the second part of its row.
  ["all", 3 + 2 + 1],
  ["except-cursor-row", 3 + 2],
  ["none", 2],
])("after a resize, with reflow %s, the cursor is %i rows below", (reflow, rows) => {
  const shown = shownWith(["x".repeat(100), "日".repeat(20), `> ${"draft ".repeat(10)}`, "below"], {
    row: 2,
    column: 45,
  })
  expect(rowsAboveCursor(shown, { columns: 39, reflow })).toBe(rows)
})

const WIDE = "x".repeat(60)
const STATUS = "s".repeat(100)
const RESIZED_AT = 1000
const ARRIVED = 900
const ON_THE_WAY = 990

test.each<readonly [string, number, readonly RecentFrame[]]>([
  ["no frame", 0, []],
  [
    "one that has arrived",
    4,
    [{ at: ARRIVED, printed: 0, shown: shownWith([WIDE, STATUS, "> "], { row: 2, column: 2 }) }],
  ],
  // Its rows are cut, not wrapped.
  [
    "one on its way",
    2,
    [{ at: ON_THE_WAY, printed: 0, shown: shownWith([WIDE, STATUS, "> "], { row: 2, column: 2 }) }],
  ],
  [
    "a row changed in its place, as wide as before",
    4,
    [
      { at: ARRIVED, printed: 0, shown: shownWith([WIDE, STATUS, "> "], { row: 2, column: 2 }) },
      { at: ON_THE_WAY, printed: 0, shown: shownWith([WIDE, "t".repeat(100), "> a"], { row: 2, column: 3 }) },
    ],
  ],
  [
    "a row that has become wider",
    3,
    [
      { at: ARRIVED, printed: 0, shown: shownWith(["x", STATUS, "> "], { row: 2, column: 2 }) },
      { at: ON_THE_WAY, printed: 0, shown: shownWith([WIDE, STATUS, "> "], { row: 2, column: 2 }) },
    ],
  ],
  [
    "a streamed paragraph that has got one row more",
    5,
    [
      { at: ARRIVED, printed: 0, shown: shownWith([WIDE, STATUS, "> "], { row: 2, column: 2 }) },
      { at: ON_THE_WAY, printed: 0, shown: shownWith([WIDE, "next", STATUS, "> "], { row: 3, column: 2 }) },
    ],
  ],
  [
    "rows that were printed",
    2,
    [
      { at: ARRIVED, printed: 0, shown: shownWith([WIDE, STATUS, "> "], { row: 2, column: 2 }) },
      { at: ON_THE_WAY, printed: 1, shown: shownWith(["next", STATUS, "> "], { row: 2, column: 2 }) },
      { at: ON_THE_WAY + 1, printed: 0, shown: shownWith(["next one", STATUS, "> "], { row: 2, column: 2 }) },
    ],
  ],
])("after a resize to 50 columns, with %s, %i rows above the cursor are erased", (_name, expected, frames) => {
  const recent = createRecentFrames()
  for (const frame of frames) recent.drawn(frame)
  expect(recent.rowsAboveCursor(RESIZED_AT, { columns: 50, reflow: "all" })).toBe(expected)
})
