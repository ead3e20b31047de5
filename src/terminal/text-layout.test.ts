import { describe, expect, test } from "vitest"
import { localDate, relativeTime } from "./relative-time.ts"
import { fitColumn, oneLine, wrapText } from "./text-layout.ts"

test("wraps text at spaces and keeps long words whole", () => {
  expect(wrapText("one two three four five six seven eight", { columns: 40, indent: 2, hanging: 4 })).toEqual([
    "  one two three four five six seven",
    "    eight",
  ])
  expect(wrapText("x".repeat(60), { columns: 40, indent: 2 })).toEqual([`  ${"x".repeat(60)}`])
  expect(wrapText("", { columns: 40, indent: 2 })).toEqual(["  "])
})

describe("fitColumn", () => {
  test.each([
    ["short", 8, "short   "],
    ["exactly8", 8, "exactly8"],
    ["longer than that", 8, "longer …"],
    ["日本語のテキスト", 8, "日本語… "],
    ["日本語", 6, "日本語"],
    ["two\nlines\tand\u001B[31m red", 40, "two lines and red                       "],
    ["", 3, "   "],
  ])("%j in %i", (text, width, fitted) => {
    expect(fitColumn(text, width)).toBe(fitted)
  })
})

test("removes control characters", () => {
  expect(oneLine("a\u001B]0;title\u0007b\r\nc")).toBe("ab c")
})

describe("relative time", () => {
  const now = 1_800_000_000
  test.each([
    [-5, "just now"],
    [0, "just now"],
    [59, "just now"],
    [60, "1m ago"],
    [3599, "59m ago"],
    [3600, "1h ago"],
    [86_399, "23h ago"],
    [86_400, "yesterday"],
    [172_799, "yesterday"],
    [172_800, "2d ago"],
    [604_799, "6d ago"],
    [604_800, localDate(now - 604_800)],
  ])("%i seconds: %s", (age, text) => {
    expect(relativeTime(now - age, now)).toBe(text)
  })
})
