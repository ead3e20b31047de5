import { expect, test } from "vitest"

import { toSessionId } from "../../protocol/identifiers.ts"
import { createModalHost } from "./modal-host.ts"
import { createTurnQuestions } from "./turn-questions.ts"

const OWN = toSessionId("20260101_100000_aaaaaa")
const TASK = toSessionId("20260101_100000_bbbbbb")

/** Asks about two calls, answers the first one with a key, and returns what happened. */
async function answerWith(chord: string, sessionId = OWN): Promise<readonly string[]> {
  const events: string[] = []
  const modals = createModalHost({ changed: () => undefined, unused: () => undefined, unsent: () => undefined })
  const questions = createTurnQuestions({
    session: {
      id: OWN,
      answer: (requestId, answer) => {
        events.push(`${requestId}: ${answer.kind === "approval" ? answer.choice : answer.text}`)
        return true
      },
    },
    modals,
    columns: () => 80,
    now: () => 0,
    note: (text) => events.push(text),
    asked: () => undefined,
    stopTurn: () => {
      events.push("stopped")
      questions.close()
    },
  })
  for (const requestId of ["1", "2"])
    questions.handle({
      type: "approval-request",
      requestId,
      sessionId,
      runId: "run",
      seq: 0,
      ts: 0,
      kind: "command",
      call: { id: "1", name: "terminal", args: {} },
      command: "rm -r build",
      description: "it deletes",
      rule: "recursive delete",
      choices: ["once", "deny"],
      reasons: [],
      expiresAt: null,
    })
  modals.key({ type: "key", chord, text: "" }, 10_000)
  await new Promise((resolve) => setImmediate(resolve))
  return events
}

test("Escape denies one call; Ctrl+C denies it and stops the turn with its other questions", async () => {
  expect(await answerWith("escape")).toEqual(["1: deny", "Denied: rm -r build"])
  expect(await answerWith("ctrl+c")).toEqual(["1: deny", "stopped", "Denied: rm -r build"])
})

test("Ctrl+C at the question of a background task does not stop the turn", async () => {
  expect(await answerWith("ctrl+c", TASK)).toEqual(["1: deny", "Denied: rm -r build"])
})
