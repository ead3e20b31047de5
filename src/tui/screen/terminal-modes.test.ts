import { expect, test } from "vitest"

import type { Shown } from "./draw-frame.ts"
import { type Reflow, rowsAboveCursor } from "./reflow.ts"
import { rowCells } from "./row-cells.ts"
import { terminalTraits } from "./terminal-modes.ts"

test.each([
  [{ TERM: "xterm-256color" }, "all", "kitty"],
  [{ TERM: "xterm-256color", TERM_PROGRAM: "vscode" }, "except-cursor-row", "kitty"],
  [{ TERM: "xterm-256color", XTERM_VERSION: "XTerm(390)" }, "none", "modify-other-keys"],
  [{ TERM: "tmux-256color", TMUX: "/tmp/tmux-0/default,1,0", XTERM_VERSION: "XTerm(390)" }, "all", "modify-other-keys"],
  [{ TERM: "tmux-256color" }, "all", "modify-other-keys"],
  [{ TERM: "screen.xterm-256color", STY: "1.pts" }, "none", "legacy"],
  [{ TERM: "rxvt-unicode-256color" }, "none", "legacy"],
  [{ TERM: "linux" }, "none", "legacy"],
])("%j wraps %s and reports keys as %s", (variables: Readonly<Record<string, string>>, reflow, keyboard) => {
  expect(terminalTraits((name) => variables[name])).toMatchObject({
    reflow,
    keyboard,
    titles: variables["TERM"] !== "linux",
  })
})

test.each<readonly [Reflow, boolean, number]>([
  // 100 columns make three rows of 40, 20 wide characters at an odd width make two of 39, and the cursor is in the second part of its row.
  ["all", true, 3 + 2 + 1],
  ["except-cursor-row", true, 3 + 2],
  ["none", true, 2],
  // Rows that were on their way are cut, not wrapped; in doubt nothing above is erased.
  ["all", false, 2],
])("after a resize, with reflow %s and drawn rows %s, the cursor is %i rows below", (reflow, drawn, rows) => {
  const shown: Shown = {
    rows: ["x".repeat(100), "日".repeat(20), `> ${"draft ".repeat(10)}`, "below"].map((row) => rowCells(row, 100)),
    cursor: { row: 2, column: 45 },
    cursorVisible: true,
    wraps: true,
  }
  expect(rowsAboveCursor(shown, { columns: 39, reflow, drawnAs: (row) => (drawn ? [row] : []) })).toBe(rows)
})
