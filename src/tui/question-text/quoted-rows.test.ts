import fc from "fast-check"
import { expect, test } from "vitest"

import { textColumns } from "../../terminal/text-width.ts"
import { indentedRows, quotedText, wrappedQuestion } from "./quoted-rows.ts"

const WIDTHS = [40, 80, 200]

test.each(WIDTHS)("quoted text is broken after spaces at %d columns, and no character is lost", (columns) => {
  const word = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "é", "漢", "👍", "-", "/"), minLength: 1, maxLength: 12 }),
    fc.constantFrom("", "x".repeat(300), "漢".repeat(150)),
  )
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 60 }), (words) => {
      const line = words.join(" ")
      const { rows } = quotedText(line, { columns, whole: true })
      const texts = rows.map((row) => row.slice(4))
      expect(texts.join("")).toBe(line)
      expect(rows.every((row) => textColumns(row.trimEnd()) < columns)).toBe(true)
      // A row that ends inside a word has no room for one more character.
      for (const [index, text] of texts.slice(0, -1).entries()) {
        const isCut = !text.endsWith(" ") && !texts[index + 1]?.startsWith(" ")
        if (isCut) expect(textColumns(text)).toBeGreaterThanOrEqual(columns - 7)
      }
    }),
  )
})

test.each(WIDTHS)("the last line of a question is broken at words at %d columns", (columns) => {
  const question = `Head\nThe plan is ready. ${"approve or revise it, ".repeat(12)}ok? `
  const rows = wrappedQuestion(question, columns).split("\n")
  expect(rows.every((row) => textColumns(row) < columns)).toBe(true)
  expect(rows.slice(2).every((row) => row.startsWith("      "))).toBe(true)
  expect(rows.map((row) => row.trim()).join(" ")).toBe(question.trim().replace("\n", " "))
  expect(rows.at(-1)?.endsWith("ok? ")).toBe(true)
})

test("a word that is longer than a row is cut, and its columns are counted", () => {
  expect(indentedRows(`a ${"漢".repeat(20)} b`, 40)).toEqual([
    "a",
    `      ${"漢".repeat(16)}`,
    `      ${"漢".repeat(4)} b`,
  ])
})
