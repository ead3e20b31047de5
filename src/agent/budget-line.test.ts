import { expect, test } from "vitest"

import { budgetLine } from "./budget-line.ts"

test.each([
  [62, 90, undefined],
  [63, 90, "[Budget: 63 of 90 rounds are used, 27 remain. Begin to bring the work to its end.]"],
  [80, 90, "[Budget: 80 of 90 rounds are used, 10 remain. Begin to bring the work to its end.]"],
  [81, 90, "[Budget, urgent: 81 of 90 rounds are used, 9 remain. Give your answer now.]"],
  [90, 90, "[Budget, urgent: 90 of 90 rounds are used, 0 remain. Give your answer now.]"],
  [0, 1, undefined],
])("%i of %i rounds", (used, max, expected) => {
  expect(budgetLine({ used, max, remaining: max - used })).toBe(expected)
})
