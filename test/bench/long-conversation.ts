import { runLongConversation } from "../integration/agent-long/run-long-conversation.ts"
import type { Measurement, Row } from "./measurement.ts"

const ROUND_CHARS = 7000

/** What 400 rounds of 7 KB cost in two windows, and what is left of 60 facts after 150 compressions. */
export const longConversation: Measurement = {
  name: "long-conversation",
  slow: true,
  run: async () => [...(await rowsFor(32_000, 30)), ...(await rowsFor(200_000, 10)), ...(await factRows())],
}

async function rowsFor(window: number, compressions: number): Promise<readonly Row[]> {
  const shape = { rounds: 400, turns: 40, roundChars: ROUND_CHARS, facts: 60 }
  const found = await runLongConversation({ ...shape, window })
  const uncompressed = await runLongConversation({ ...shape, window: 20_000_000 })
  const label = `400 rounds of 7 KB, window ${window}`
  return [
    { name: `${label}: compressions`, unit: "count", ours: found.compressions, target: { atMost: compressions } },
    { name: `${label}: requests too long for it`, unit: "count", ours: found.overflows, target: { atMost: 0 } },
    { name: `${label}: bytes sent`, unit: "bytes", ours: found.sentBytes },
    { name: `${label}: of these not in the prompt cache`, unit: "bytes", ours: found.uncachedBytes },
    {
      name: `${label}: size of the database, floor without compressions`,
      unit: "bytes",
      ours: found.databaseBytes,
      floor: uncompressed.databaseBytes,
      target: { ratio: 1.5 },
    },
    {
      name: `${label}: facts of the user in the last request`,
      unit: "share",
      ours: found.userFactsVisible / found.userFacts,
      target: { atLeast: 1 },
    },
  ]
}

async function factRows(): Promise<readonly Row[]> {
  const facts = 60
  const found = await runLongConversation({ window: 8192, rounds: 400, turns: 40, roundChars: ROUND_CHARS, facts })
  const label = "400 rounds of 7 KB, window 8192"
  return [
    { name: `${label}: compressions`, unit: "count", ours: found.compressions, target: { atLeast: 150 } },
    {
      name: `${label}: facts found by session_search`,
      unit: "share",
      ours: found.factsFound / facts,
      target: { atLeast: 1 },
    },
  ]
}
