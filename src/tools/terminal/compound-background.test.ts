import { expect, test } from "vitest"
import { rewriteCompoundBackground } from "./compound-background.ts"

test.each([
  ["a && b &", "a && { b & }"],
  ["cd x && npm run dev &", "cd x && { npm run dev & }"],
  ["a || b & c", "a || { b & }; c"],
  ["a && b > f 2>&1 &", "a && { b > f 2>&1 & }"],
  ["a && b &> log &", "a && { b &> log & }"],
  ["a; b && c &\nd && e &", "a; b && { c & }\nd && { e & }"],
  ["a && b | c & wait", "a && { b | c & }; wait"],
  ["a &&\n b &", "a &&\n { b & }"],
  ["a && (b; c) &", "a && { (b; c) & }"],
  ["a && b && c & d || e &", "a && b && { c & }; d || { e & }"],
])("%j becomes %j", (command, expected) => {
  expect(rewriteCompoundBackground(command)).toBe(expected)
})

test.each([
  "a & b",
  "(a && b) &",
  "a && { b & }",
  "echo 'x && y &'",
  'echo "a && $(b && c &) &"',
  "if x; then a && b & fi",
  "for f in *; do a && b & done",
  "a && b; c &",
  "# a && b &",
  "cat <<E\na && b &\nE",
  "a && b &> log",
  "a && {",
])("%j stays as it is", (command) => {
  expect(rewriteCompoundBackground(command)).toBe(command)
})
