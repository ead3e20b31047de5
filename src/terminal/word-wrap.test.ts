import { expect, test } from "vitest"

import { fc } from "../../test/support/property.ts"
import { createWordWrap, wrapWords } from "./word-wrap.ts"

function wrap(text: string, columns: number, deltas: readonly string[] = [text]): string {
  const wrapped = createWordWrap(() => columns)
  return deltas.map((delta) => wrapped.feed(delta)).join("") + wrapped.flush()
}

test.each([
  ["breaks at spaces", "one two three four", 9, "one two\nthree\nfour"],
  ["keeps a line that just fits", "one two", 7, "one two"],
  ["keeps line breaks and empty lines", "one\n\ntwo three four", 9, "one\n\ntwo three\nfour"],
  ["indents a list item like its text", "- one two three", 9, "- one two\n  three"],
  ["indents a numbered item", "12. one two three", 12, "12. one two\n    three"],
  ["indents an indented line", "  one two three", 9, "  one two\n  three"],
  ["leaves a long word", "see https://example.org/a/long/path now", 12, "see https://example.org/a/long/path\nnow"],
  ["leaves code", "```\none two three four\n```\none two three", 9, "```\none two three four\n```\none two\nthree"],
  ["leaves tables", "| one | two | three |", 9, "| one | two | three |"],
  ["keeps spaces inside a line", "a   b\tc", 20, "a   b\tc"],
  ["wide characters need no space", "日本語日本語", 8, "日本語日\n本語"],
])("%s", (_what, text, columns, expected) => {
  expect(wrap(text, columns)).toBe(expected)
})

test("a word is written when it is complete, and a word that fills the line at once", () => {
  const wrapped = createWordWrap(() => 10)
  expect([wrapped.feed("one t"), wrapped.feed("wo thr"), wrapped.feed("ee"), wrapped.flush()]).toEqual([
    "one",
    " two",
    "",
    "\nthree",
  ])
  expect(wrapped.feed("x".repeat(25))).toBe("x".repeat(25))
  expect(wrapped.flush()).toBe("")
  expect([wrapped.feed("one two thr"), wrapped.release(), wrapped.release(), wrapped.feed("ee four")]).toEqual([
    "one two",
    "\nthr",
    "",
    "ee",
  ])
})

test("only spaces become line breaks, however the text is divided into deltas", () => {
  const text = fc.array(fc.constantFrom("a", "bb", "word", " ", " ", "\n", "- ", "日", "é", "```\n", "|"), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(text, fc.integer({ min: 4, max: 20 }), fc.integer({ min: 1, max: 5 }), (parts, columns, size) => {
      const whole = parts.join("")
      const deltas = whole.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? []
      const wrapped = wrap(whole, columns, deltas)
      expect(wrapped.replaceAll(/\s/gu, "")).toBe(whole.replaceAll(/\s/gu, ""))
      const words = (text: string): readonly string[] => text.split(/\s+/u).filter((word) => word !== "")
      if (!whole.includes("日")) expect(words(wrapped)).toEqual(words(whole))
    }),
  )
})

test("a complete text, such as the reply of a command, breaks at words; code and diffs stay as they are", () => {
  const sentence = "Switch with /model NAME, or connect a provider."
  expect(wrapWords(sentence, 20)).toBe("Switch with /model\nNAME, or connect a\nprovider.")
  const code = "```\na line of code that is long\n```"
  const diff = "@@ -1 +1 @@\n-a line of a file that is long\n+another line that is long"
  expect([wrapWords(code, 20), wrapWords(diff, 20), wrapWords("", 20), wrapWords("a\n", 20)]).toEqual([
    code,
    diff,
    "",
    "a\n",
  ])
})
