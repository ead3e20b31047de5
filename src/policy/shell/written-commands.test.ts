import { expect, test } from "vitest"

import { readCommandLine } from "./written-commands.ts"

const commandsOf = (line: string): readonly string[] =>
  readCommandLine(line).commands.map((words) => words.map(({ value }) => value).join(" "))

test.each([
  ["a 'b c' \"d\" > f", ["a b c d"]],
  ["X=1 a; b && c | d", ["a", "b", "c", "d"]],
  ["if a; then b; fi; while c; do d; done", ["a", "b", "c", "d"]],
  ["echo $(a `b`) <(c)", ["echo $(a `b`) <(c)", "a `b`", "b", "c"]],
  ["# a\nb # c", ["b"]],
  ["cat <<E\na\nE\nb", ["cat", "b"]],
  ["X=1", []],
  ["a 'b", ["a b"]],
])("the commands of %j", (line, expected) => {
  expect(commandsOf(line)).toEqual(expected)
})

test.each([
  ["a &", true],
  ["a && b", false],
  ["a &> f 2>&1", false],
  ["echo 'a &' \"b &\"", false],
  ["echo $(a &)", true],
  ["(a &)", true],
])("%j starts something in the background: %j", (line, expected) => {
  expect(readCommandLine(line).hasBackground).toBe(expected)
})

test("words have the offset of their end, except inside nested backticks", () => {
  const [echo, outer, inner] = readCommandLine("echo `a \\`b\\``").commands
  expect(echo?.[0]?.end).toBe(4)
  expect(outer?.[0]).toMatchObject({ value: "a" })
  expect(inner?.[0]).toEqual({ value: "b", end: undefined })
})
