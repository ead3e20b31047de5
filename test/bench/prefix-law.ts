import { eventfulSession } from "../integration/agent-long/eventful-session.ts"
import type { Measurement } from "./measurement.ts"
import { prefixShare } from "./requests.ts"

/** The requests of a session in which memory, tasks, notes, modes and models change and the process restarts twice. */
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
