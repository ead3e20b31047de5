import { expect, test } from "vitest"
import { cleanGeneratedTitle, cleanTitle, lineageBase, nextInLineage } from "./titles.ts"

test.each([
  ["  hello  ", "hello"],
  ["a\tb\nc", "a b c"],
  ["zero\u200Bwidth", "zerowidth"],
  ["a\u202Eb", "ab"],
  ["\u0000\u0001", null],
  ["   ", null],
  ["", null],
  ["\u3000全角\u3000", "全角"],
  ["x".repeat(100), "x".repeat(100)],
  ["🙂".repeat(100), "🙂".repeat(100)],
  ["a\uFEFF\u2060\u200F\u007F\uFFFCb", "ab"],
  ["lone \uD800 half", "lone \uFFFD half"],
])("%j is stored as %j", (title, stored) => {
  expect(cleanTitle(title)).toEqual({ ok: true, value: stored })
})

test("a title that is too long is rejected with its length and the limit", () => {
  expect(cleanTitle("x".repeat(101))).toEqual({ ok: false, error: { length: 101, limit: 100 } })
})

test("a generated title that is too long is truncated", () => {
  expect(cleanGeneratedTitle("x".repeat(150))).toBe("x".repeat(100))
})

test.each([
  ["my project", "my project"],
  ["my project #2", "my project"],
  ["issue #4 again", "issue #4 again"],
  ["#7", "#7"],
])("the lineage of %j is %j", (title, base) => {
  expect(lineageBase(title)).toBe(base)
})

test.each([
  ["free", [], "free"],
  ["a", ["a"], "a #2"],
  ["a", ["a", "a #2", "a #5"], "a #6"],
  ["a", ["a #draft"], "a #2"],
  ["x".repeat(100), ["x".repeat(100)], `${"x".repeat(97)} #2`],
])("the title after %j, when %j exist, is %j", (base, existing, next) => {
  expect(nextInLineage(base, existing)).toBe(next)
})
