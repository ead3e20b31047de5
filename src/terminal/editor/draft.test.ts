import { expect, test } from "vitest"

import { fc } from "../../../test/support/property.ts"
import {
  deleteLeft,
  deleteToLineEnd,
  deleteToLineStart,
  deleteWordLeft,
  deleteWordRight,
  moveDown,
  moveLeft,
  moveRight,
  moveToLineEnd,
  moveToLineStart,
  moveUp,
  moveWordLeft,
  moveWordRight,
} from "./draft.ts"
import type { Draft } from "./draft.ts"
import { textColumns } from "../text-width.ts"
import { draftRows } from "./draft-rows.ts"
import { wrapLine } from "./wrapped-line.ts"

/** `|` is the cursor. */
function at(marked: string): Draft {
  return { text: marked.replace("|", ""), cursor: marked.indexOf("|") }
}

function marked({ text, cursor }: Draft): string {
  return `${text.slice(0, cursor)}|${text.slice(cursor)}`
}

test.each([
  [moveLeft, "a|b", "|ab"],
  [moveLeft, "|ab", "|ab"],
  [moveRight, "ab|", "ab|"],
  [moveRight, "|👩‍👩‍👧b", "👩‍👩‍👧|b"],
  [deleteLeft, "xe\u0301|", "x|"],
  [deleteLeft, "|x", "|x"],
  [moveWordLeft, "one two  |", "one |two  "],
  [moveWordRight, "one| two", "one two|"],
  [deleteWordLeft, "run src/app|", "run src/|"],
  [deleteWordRight, "|one two", "| two"],
  [moveToLineStart, "one\ntw|o", "one\n|two"],
  [moveToLineEnd, "o|ne\ntwo", "one|\ntwo"],
  [deleteToLineStart, "one\ntw|o", "one\n|o"],
  [deleteToLineStart, "one\n|two", "one|two"],
  [deleteToLineEnd, "o|ne\ntwo", "o|\ntwo"],
  [deleteToLineEnd, "one|\ntwo", "one|two"],
])("%o of %j", (edit, before, after) => {
  expect(marked(edit(at(before)))).toBe(after)
})

test("moves between lines, not into a character", () => {
  const up = moveUp(at("日本\nabc|"))
  expect(up && marked(up)).toBe("日本|\nabc")
  const down = moveDown(at("ab|\nxe\u0301"))
  expect(down && marked(down)).toBe("ab\nx|e\u0301")
  expect([moveUp(at("one|\ntwo")), moveDown(at("one\ntwo|"))]).toEqual([undefined, undefined])
})

test("rows contain the whole draft, fit the window, and the cursor is on them", () => {
  const character = fc.constantFrom("a", "b", " ", "日", "e\u0301", "\n", "x")
  fc.assert(
    fc.property(fc.array(character), fc.integer({ min: 3, max: 50 }), fc.nat(), (characters, columns, position) => {
      const text = characters.join("")
      const cursor = characters.slice(0, position % (characters.length + 1)).join("").length
      const prompt = "> "
      const { rows, cursor: shown } = draftRows({ prompt, draft: { text, cursor }, columns, maxRows: 1000 })
      const shownCharacters = (shown: string) => shown.replaceAll(/\s/gu, "")
      expect(shownCharacters(rows.join(""))).toBe(shownCharacters(prompt + text))
      expect(rows.every((row) => textColumns(row) < Math.max(3, columns))).toBe(true)
      expect(shown.row).toBeLessThan(rows.length)
      expect(shown.column).toBeLessThan(columns)
    }),
  )
})

test("a tall draft shows the rows around the cursor", () => {
  const text = "0\n1\n2\n3\n4\n5"
  const window = (cursor: number) => draftRows({ prompt: "> ", draft: { text, cursor }, columns: 20, maxRows: 3 })
  expect(window(text.length)).toEqual({ rows: ["  3", "  4", "  5"], cursor: { row: 2, column: 3 } })
  expect(window(0)).toEqual({ rows: ["> 0", "  1", "  2"], cursor: { row: 0, column: 2 } })
})

test.each([
  ["one two three", 7, ["one two", "three"]],
  ["one two three", 8, ["one two ", "three"]],
  ["one two ", 7, ["one two", ""]],
  ["extraordinary", 5, ["extra", "ordin", "ary"]],
  ["an extraordinary", 5, ["an ", "extra", "ordin", "ary"]],
  ["日本 日本語", 6, ["日本 ", "日本語"]],
  ["日本 é 日本語", 7, ["日本 é ", "日本語"]],
  ["日本語", 5, ["日本", "語"]],
  ["שלום עולם", 5, ["שלום ", "עולם"]],
  ["a\u202Eb", 5, ["ab"]],
  ["", 5, [""]],
])("%j is wrapped at %s columns", (line, width, rows) => {
  const wrapped = wrapLine(line, width)
  expect(wrapped.map(({ text }) => text)).toEqual(rows)
  expect(wrapped.map(({ start, end }) => line.slice(start, end)).join("")).toBe(line)
})
