import { expect, test } from "vitest"
import { editDistance, nearest } from "./nearest-name.ts"

test.each([
  ["kitten", "sitting", 3],
  ["", "abc", 3],
  ["same", "same", 0],
])("%s and %s are %i edits apart", (a, b, expected) => {
  expect([editDistance(a, b), editDistance(b, a)]).toEqual([expected, expected])
})

test.each([
  ["sesions", "sessions"],
  ["SETUP", "setup"],
  ["xyz", undefined],
  ["x".repeat(1_000_000), undefined],
])("the nearest to %.10s is %s", (word, expected) => {
  expect(nearest(word, ["setup", "sessions", "status"])).toBe(expected)
})
