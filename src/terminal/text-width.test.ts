import { expect, test } from "vitest"

import { nextGrapheme, previousGrapheme, takeColumns, textColumns } from "./text-width.ts"

test.each([
  ["plain", 5],
  ["日本", 4],
  ["cafe\u0301", 4],
  ["👩‍👩‍👧", 2],
  ["🇩🇪", 2],
  ["❤️", 2],
  ["ｱ", 1],
  ["", 0],
])("%j takes %i columns", (text, columns) => {
  expect(textColumns(text)).toBe(columns)
})

test("the cursor moves by user-perceived characters", () => {
  const text = "ae\u0301👩‍👩‍👧日"
  const starts = [0]
  while ((starts.at(-1) ?? 0) < text.length) starts.push(nextGrapheme(text, starts.at(-1) ?? 0))
  expect(starts).toEqual([0, 1, 3, 11, 12])
  expect(
    starts
      .toReversed()
      .slice(0, -1)
      .map((index) => previousGrapheme(text, index)),
  ).toEqual([11, 3, 1, 0])
  expect([previousGrapheme(text, 0), nextGrapheme(text, text.length)]).toEqual([0, text.length])
})

test("cuts at a number of columns, not inside a character", () => {
  expect([takeColumns("日本語", 5), takeColumns("e\u0301x", 1), takeColumns("abc", 2)]).toEqual([
    "日本",
    "e\u0301",
    "ab",
  ])
})
