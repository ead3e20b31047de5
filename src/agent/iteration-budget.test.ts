import { expect, test } from "vitest"
import { IterationBudget } from "./iteration-budget.ts"

test("a budget of two gives two rounds", () => {
  const budget = new IterationBudget(2)
  expect([budget.consume(), budget.consume(), budget.consume(), budget.used, budget.remaining]).toEqual([
    true,
    true,
    false,
    2,
    0,
  ])
})

test("a refund buys another round, but a fresh budget has nothing to refund", () => {
  const fresh = new IterationBudget(2)
  fresh.refund()
  const budget = new IterationBudget(1)
  const first = budget.consume()
  budget.refund()
  expect([fresh.used, fresh.remaining, first, budget.consume(), budget.consume()]).toEqual([0, 2, true, true, false])
})
