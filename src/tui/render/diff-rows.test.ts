import { expect, test } from "vitest"

import { colorTheme, plainTheme, readable } from "../../../test/fixtures/tui/themes.ts"
import { textColumns } from "../../terminal/text-width.ts"
import { diffRows } from "./diff-rows.ts"

const DIFF = `--- a/src/a.ts
+++ b/src/a.ts
@@ -9,3 +9,3 @@
 function f() {
-  return one(1)
+  return two(1)
 }
@@ -100,1 +100,3 @@
 last
+\tadded
+--- not a header
\\ No newline at end of file
--- /dev/null
+++ b/new\u{1B}[2J.ts
@@ -0,0 +1 @@
+new
`

test("line numbers, headers and signs, without colours", () => {
  expect(diffRows(DIFF, { theme: plainTheme, columns: 60 })).toEqual([
    "a/src/a.ts → b/src/a.ts  +3 -1",
    "   9   function f() {",
    "  10 -   return one(1)",
    "  10 +   return two(1)",
    "  11   }",
    "  ⋮",
    "  100   last",
    "  101 +     added",
    "  102 + --- not a header",
    String.raw`        \ No newline at end of file`,
    "b/new\\u{1B}[2J.ts (new)  +1 -0",
    "  1 + new",
  ])
})

test("changed words are marked", () => {
  const rows = diffRows(DIFF, { theme: colorTheme, columns: 60 }).map(readable)
  expect(rows.slice(2, 4)).toEqual([
    "<dim>  10 </><ui_error>- </><ui_error>  return </><inverse><ui_error>one</></><ui_error>(1)</>",
    "<dim>  10 </><ui_ok>+ </><ui_ok>  return </><inverse><ui_ok>two</></><ui_ok>(1)</>",
  ])
})

test("long lines and large blocks are compared as lines", () => {
  const inverse = (lines: readonly string[]): number =>
    diffRows(`--- a/x\n+++ b/x\n@@ -1,${lines.length / 2} +1,${lines.length / 2} @@\n${lines.join("\n")}`, {
      theme: colorTheme,
      columns: 80,
      maxLines: 1000,
    })
      .map(readable)
      .filter((row) => row.includes("<inverse>")).length
  const block = (size: number, text: string): readonly string[] => [
    ...Array.from({ length: size }, () => `-${text} old`),
    ...Array.from({ length: size }, () => `+${text} new`),
  ]
  expect(inverse(block(2, "some words"))).toBe(4)
  expect(inverse(block(51, "some words"))).toBe(0)
  expect(inverse(block(1, "x".repeat(600)))).toBe(0)
})

test("what was left out is counted", () => {
  const file = (name: string, lines: number): string =>
    `--- a/${name}\n+++ b/${name}\n@@ -0,0 +1,${lines} @@\n${"+x\n".repeat(lines)}`
  const options = { theme: plainTheme, columns: 60 }
  const long = diffRows(file("a", 100), options)
  expect([long.length, long.at(-1)]).toEqual([82, "  … 20 more lines"])
  const many = diffRows(Array.from({ length: 8 }, (_, index) => file(`f${index}`, 1)).join(""), options)
  expect([many.length, many.at(-1)]).toEqual([13, "  … 2 more lines, also in 2 more files"])
})

test.each([40, 60, 80, 120])("no row is wider than %i columns", (columns) => {
  const wide = `--- a/${"d/".repeat(80)}x\n+++ b/${"d/".repeat(80)}x\n@@ -1 +1 @@\n-${"日本".repeat(60)}\n+${"word ".repeat(60)}\n`
  for (const row of diffRows(DIFF + wide, { theme: plainTheme, columns })) {
    expect(textColumns(row)).toBeLessThanOrEqual(columns)
  }
})

test("text that is not a diff shows nothing", () => {
  expect(diffRows("", { theme: plainTheme, columns: 60 })).toEqual([])
  expect(diffRows("Binary files differ\n", { theme: plainTheme, columns: 60 })).toEqual([])
})

test("the names of files show what they consist of", () => {
  const rows = diffRows("--- a/x\u001B[31m.txt\n+++ b/x\u202E.txt\n@@ -1 +1 @@\n-a\n+b\n", {
    theme: plainTheme,
    columns: 60,
  })
  expect(rows[0]).toBe(String.raw`a/x\u{1B}[31m.txt → b/x\u{202E}.txt  +1 -1`)
})
