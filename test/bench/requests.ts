import type { Measurement } from "./measurement.ts"
import { timeCommand } from "./rounds.ts"
import { startScriptedModel } from "./scripted-model.ts"
import { requireCommandsRan, toolConversation } from "./tool-conversation.ts"

const TURNS = 10

/** The requests of a conversation of ten tool turns, continued for ten more by a second process. */
export const requests: Measurement = {
  name: "requests",
  run: async () => {
    await using model = await startScriptedModel(toolConversation(TURNS))
    await timeCommand(model.hermes("-z", "Run true."))
    await timeCommand(model.hermes("-z", "Run it again.", "--continue"))
    const sent = await model.takeRequests()
    if (sent.length !== 2 * (TURNS + 1))
      throw new Error(`expected ${2 * (TURNS + 1)} requests, received ${sent.length}`)
    requireCommandsRan(sent.at(-1)?.body, 2 * TURNS)
    return [
      {
        name: "requests that extend the one before",
        unit: "share",
        ours: prefixShare(sent.map((request) => request.rawBody)),
        target: { atLeast: 1 },
      },
    ]
  },
}

/** The share of bodies that start with the previous body without its closing brackets. */
export function prefixShare(bodies: readonly string[]): number {
  const pairs = bodies.slice(1).map((body, index) => ({ body, before: bodies[index] ?? "" }))
  if (pairs.length === 0) throw new Error("at least two requests are required")
  const kept = pairs.filter(({ body, before }) => before.endsWith("]}") && body.startsWith(before.slice(0, -2)))
  return kept.length / pairs.length
}
