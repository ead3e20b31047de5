import { expect, test } from "vitest"

import { runLongTask } from "./run-long-task.ts"

const ROUNDS = 300
/** For more seeds: `HERMES_LONG_TASK_SEEDS=10 npx vitest run test/integration/agent-long`. */
const SEEDS = Number(process.env["HERMES_LONG_TASK_SEEDS"] ?? 1)
const FIRST_SEED = 20_261_115

const CASES = [
  { window: 32_000, usage: "reported" },
  { window: 8192, usage: "reported" },
  // A server that never reports usage.
  { window: 8192, usage: "missing" },
] as const

test.each(
  CASES.flatMap((given) => Array.from({ length: SEEDS }, (_, index) => ({ ...given, seed: FIRST_SEED + index }))),
)("a task of 300 rounds on a window of $window, usage $usage, seed $seed", { timeout: 120_000 }, async (given) => {
  const figures = await runLongTask({ ...given, rounds: ROUNDS })
  expect(figures).toMatchObject({
    outcome: "completed",
    answer: "Every part is done.",
    rounds: ROUNDS + 1,
    overflows: 0,
    withoutTask: 0,
    invalid: [],
    extended: figures.pairs,
    lost: 0,
  })
  expect(figures.compressions).toBeGreaterThan(5)
  expect(figures.withoutModel / figures.compressions).toBeGreaterThanOrEqual(0.8)
})
