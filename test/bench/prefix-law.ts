import { eventfulSession } from "../integration/agent-long/eventful-session.ts"
import type { Measurement } from "./measurement.ts"
import { prefixShare } from "./requests.ts"

/** What a session sends in which memory, task list, notes, modes and models change and the process is started again, twice. */
export const prefixLaw: Measurement = {
  name: "prefix-law",
  run: async () => [
    {
      name: "requests that extend the one before, eventful session",
      unit: "share",
      ours: prefixShare(await eventfulSession()),
      target: { atLeast: 1 },
    },
  ],
}
