import { runLongTask } from "../integration/agent-long/run-long-task.ts"
import type { Measurement, Row } from "./measurement.ts"

const ROUNDS = 300
const SEED = 20_261_115

/** How a task of 300 rounds fits in a small window, and how many compressions need a model. */
export const longTask: Measurement = {
  name: "long-task",
  slow: true,
  run: async () => [...(await rowsFor(32_000)), ...(await rowsFor(8192))],
}

async function rowsFor(window: number): Promise<readonly Row[]> {
  const found = await runLongTask({ seed: SEED, rounds: ROUNDS, window, usage: "reported" })
  if (found.outcome !== "completed") throw new Error(`the task ended with ${found.outcome}: ${found.error}`)
  const label = `${ROUNDS} rounds, window ${window}`
  const share = { unit: "share", target: { atLeast: 1 } } as const
  return [
    { name: `${label}: requests too long for it`, unit: "count", ours: found.overflows, target: { atMost: 0 } },
    { name: `${label}: largest request`, unit: "share", ours: found.largestShare, target: { atMost: 1 } },
    { name: `${label}: compressions`, unit: "count", ours: found.compressions },
    {
      name: `${label}: of these without a model`,
      unit: "share",
      ours: found.withoutModel / found.compressions,
      target: { atLeast: 0.8 },
    },
    {
      name: `${label}: requests that extend the one before, outside compressions`,
      ...share,
      ours: found.extended / found.pairs,
    },
  ]
}
