import { expect, test } from "vitest"
import { stripAnsi } from "./strip-ansi.ts"

test.each([
  ["\x1b[31mred\x1b[0m", "red"],
  ["\x1b]0;title\x07x", "x"],
  ["\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"],
  ["\x1b[?25lhi", "hi"],
  ["\x9b31mx", "x"],
  ["\x1bPq..\x1b\\y", "y"],
  ["\x1b(Bz", "z"],
  ["a\x1bMb", "ab"],
  ["\x9d0;t\x9cx", "x"],
  ["cut \x1b[38;5", "cut "],
  ["cut \x1b", "cut "],
  ["café ж 日本 😀", "café ж 日本 😀"],
  ["plain [31m", "plain [31m"],
])("%j without its sequences is %j", (text, expected) => {
  expect(stripAnsi(text)).toBe(expected)
})

test.each(["\x1bP", "\x1b]", "\x1b[", "\x1b", "\x9b1;", "\x9d", "\x90"])(
  "a megabyte of %j takes no noticeable time",
  (piece) => {
    // Processor time, because a busy machine makes everything slower. Quadratic work would take minutes.
    const before = process.cpuUsage()
    stripAnsi(piece.repeat(1_000_000 / piece.length))
    expect(process.cpuUsage(before).user).toBeLessThan(1000000)
  },
)
