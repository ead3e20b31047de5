import { describe, expect, test } from "vitest"
import { fileSize } from "./file-size.ts"
import { localDate, relativeTime } from "./relative-time.ts"
import { asSentence } from "./sentence.ts"
import { fitColumn, oneLine, safeText, wrapText } from "./text-layout.ts"

test("text is wrapped at blanks, and a long word stays whole", () => {
  expect(wrapText("one two three four five six seven eight", { columns: 40, indent: 2, hanging: 4 })).toEqual([
    "  one two three four five six seven",
    "    eight",
  ])
  expect(wrapText("x".repeat(60), { columns: 40, indent: 2 })).toEqual([`  ${"x".repeat(60)}`])
  expect(wrapText("", { columns: 40, indent: 2 })).toEqual(["  "])
})

describe("a column has exactly its width", () => {
  test.each([
    ["short", 8, "short   "],
    ["exactly8", 8, "exactly8"],
    ["longer than that", 8, "longer …"],
    ["日本語のテキスト", 8, "日本語… "],
    ["日本語", 6, "日本語"],
    ["two\nlines\tand\u001B[31m red", 40, "two lines and [31m red                  "],
    ["", 3, "   "],
  ])("%j in %i", (text, width, fitted) => {
    expect(fitColumn(text, width)).toBe(fitted)
  })
})

test("text of others cannot steer the terminal", () => {
  expect(oneLine("a\u001B]0;title\u0007b\r\nc")).toBe("a ]0;title b c")
  expect(safeText("a\u001B[2Jb\r\nc\td\u0085")).toBe("a[2Jb\nc\td")
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

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1.0 KB"],
  [1_572_864, "1.5 MB"],
  [5 * 1024 ** 4, "5.0 TB"],
  [5 * 1024 ** 5, "5120.0 TB"],
])("%i bytes are %s", (bytes, text) => {
  expect(fileSize(bytes)).toBe(text)
})

test.each([
  ["cannot open it", "Cannot open it."],
  ["config.yaml does not parse", "config.yaml does not parse."],
  ["~/x is broken (line 1)", "~/x is broken (line 1)."],
  ["Is it?", "Is it?"],
  ["use `hermes`", "Use `hermes`"],
])("%j alone on a line is %j", (message, sentence) => {
  expect(asSentence(message)).toBe(sentence)
})
