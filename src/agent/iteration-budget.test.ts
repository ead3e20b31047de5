import { expect, test } from "vitest"
import { budgetWarning, IterationBudget } from "./iteration-budget.ts"

test("a budget of two allows two iterations", () => {
  const budget = new IterationBudget(2)
  expect([budget.consume(), budget.consume(), budget.consume(), budget.used, budget.remaining]).toEqual([
    true,
    true,
    false,
    2,
    0,
  ])
})

test("a refund allows another iteration, but an unused budget has nothing to refund", () => {
  const fresh = new IterationBudget(2)
  fresh.refund()
  const budget = new IterationBudget(1)
  const first = budget.consume()
  budget.refund()
  expect([fresh.used, fresh.remaining, first, budget.consume(), budget.consume()]).toEqual([0, 2, true, true, false])
})

test("a shared budget ends with its own limit or with what others leave of the parent's", () => {
  const parent = new IterationBudget(5)
  parent.consume()
  const [one, two] = [new IterationBudget(2, parent), new IterationBudget(50, parent)]
  expect([one.consume(), one.consume(), one.consume(), one.used, one.max]).toEqual([true, true, false, 2, 2])
  expect([two.max, two.remaining, two.consume(), two.consume(), two.consume(), two.used, two.max]).toEqual([
    2,
    2,
    true,
    true,
    false,
    2,
    2,
  ])
  expect([parent.used, parent.consume()]).toEqual([5, false])
  two.refund()
  expect([parent.remaining, one.remaining, two.consume()]).toEqual([1, 0, true])
})

test.each([
  [62, 90, undefined],
  [63, 90, "[Budget: 63 of 90 iterations are used, 27 remain. Start to finish the work.]"],
  [80, 90, "[Budget: 80 of 90 iterations are used, 10 remain. Start to finish the work.]"],
  [81, 90, "[Budget, urgent: 81 of 90 iterations are used, 9 remain. Give your answer now.]"],
  [90, 90, "[Budget, urgent: 90 of 90 iterations are used, 0 remain. Give your answer now.]"],
  [0, 1, undefined],
])("the budget warning after %i of %i iterations", (used, max, expected) => {
  expect(budgetWarning({ used, max, remaining: max - used })).toBe(expected)
})
