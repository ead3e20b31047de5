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
  ["--stauts", "status"],
  ["sta", undefined],
  ["stat", "status"],
  ["foo", undefined],
])("the nearest to %.10s is %s", (word, expected) => {
  expect(nearest(word, ["setup", "sessions", "status"])).toBe(expected)
})

test.each([
  ["--foo", ["--yolo", "--force"], undefined],
  ["--tool", ["--yolo", "--tui"], undefined],
  ["--yollo", ["--yolo"], "--yolo"],
  ["--y", ["--yolo"], undefined],
  ["/hepl", ["/help", "/new"], "/help"],
  ["--lim", ["--limit"], "--limit"],
  ["ba", ["ab"], "ab"],
  ["", ["a"], undefined],
  ["same", ["same"], "same"],
])("%s in %j: %s", (word, candidates, expected) => {
  expect(nearest(word, candidates)).toBe(expected)
})
