import { expect, test } from "vitest"

import { fuzzyFilter, fuzzyScore } from "./fuzzy-score.ts"

test.each([
  ["editor.ts", "src/tui/editor.ts", 100],
  ["EDIT", "src/tui/editor.ts", 80],
  ["tor", "src/tui/editor.ts", 60],
  ["tui/ed", "src/tui/editor.ts", 40],
  ["ste", "src/tui/editor.ts", 35],
  ["rr", "src/tui/editor.ts", 25],
  ["fs", "base/fuzzyScore.ts", 35],
  ["editor", "src/editor/", 80],
  ["xyz", "src/tui/editor.ts", undefined],
  ["", "anything", 0],
])("%j in %s scores %s", (query, candidate, score) => {
  expect(fuzzyScore(query, candidate)).toBe(score)
})

test("better and shorter candidates come first, and without a query the order stays", () => {
  const files = ["lib/model-list.ts", "src/model.ts", "model", "zoo/m-o-d-e-l"]
  expect(fuzzyFilter("model", files, (file) => file)).toEqual([
    "model",
    "src/model.ts",
    "lib/model-list.ts",
    "zoo/m-o-d-e-l",
  ])
  expect(fuzzyFilter("", files, (file) => file)).toEqual(files)
})
