import { expect, test } from "vitest"

import { callsTool, reply, says } from "../../support/model-server/turn.ts"
import { manualClock } from "../../support/manual-clock.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import { wireProblems } from "./on-every-wire.ts"

const ASKS = callsTool("clarify", { question: "Which colour?", choices: ["Red", "Blue"] })

function answerOf(house: AssembledApp): unknown {
  return JSON.parse(house.model.toolResults(1)[0]?.text ?? "{}")
}

test("a question goes to the person and the answer to the model", async () => {
  await using house = await assembleApp([ASKS, says("Blue it is.")])
  const session = await house.open()
  const answered: boolean[] = []
  const { events, end } = await runToEnd(session, "paint", (event) => {
    if (event.type !== "clarify-request") return
    answered.push(
      session.answer("clarify_99", { kind: "clarify", text: "Red" }),
      session.answer(event.requestId, { kind: "approval", choice: "once" }),
      session.answer(event.requestId, { kind: "clarify", text: "Blue" }),
      session.answer(event.requestId, { kind: "clarify", text: "Red" }),
    )
  })
  expect([end.result.finalResponse, answered]).toEqual(["Blue it is.", [false, false, true, false]])
  const asked = events.find((event) => event.type === "clarify-request")
  expect(asked).toMatchObject({
    kind: "question",
    question: "Which colour?",
    choices: ["Red", "Blue"],
    allowFreetext: true,
  })
  expect(events).toContainEqual(
    expect.objectContaining({ type: "status", kind: "answered", question: "clarify", choice: "Blue", by: "user" }),
  )
  expect(answerOf(house)).toEqual({
    question: "Which colour?",
    choices_offered: ["Red", "Blue"],
    user_response: "Blue",
  })
})

test("a question that nobody answers in time is left to the model", async () => {
  const clock = manualClock()
  await using house = await assembleApp([ASKS, says("I took red.")], { clock, config: "clarify:\n  timeout: 30\n" })
  const { end, events } = await runToEnd(await house.open(), "paint", async (event) => {
    if (event.type !== "clarify-request") return
    expect(event.expiresAt).toBeCloseTo(clock.now() / 1000 + 30, 1)
    await clock.advance(30_000)
  })
  expect(end.result.finalResponse).toBe("I took red.")
  expect(events).toContainEqual(expect.objectContaining({ kind: "answered", choice: "timeout", by: "noninteractive" }))
  expect(answerOf(house)).toMatchObject({ user_response: expect.stringContaining("Decide yourself") })
})

test("a question with nobody there is answered at once, and nobody sees it", async () => {
  await using house = await assembleApp([ASKS, says("I took red.")])
  const { events, end } = await runToEnd(await house.open({ attended: false }), "paint")
  expect(end.result.finalResponse).toBe("I took red.")
  expect(events.some(({ type }) => type === "clarify-request")).toBe(false)
  expect(answerOf(house)).toEqual({
    error: "no user is available to answer; proceed by your best judgement and state what you assumed",
  })
})

test("two questions of one reply are put one after the other", async () => {
  const call = (question: string) => ({ name: "clarify", input: { question } })
  await using house = await assembleApp([reply({ calls: [call("First?"), call("Second?")] }), says("Thanks.")])
  const session = await house.open()
  const open: string[] = []
  const { events } = await runToEnd(session, "ask me", (event) => {
    if (event.type !== "clarify-request") return
    open.push(event.question)
    session.answer(event.requestId, { kind: "clarify", text: `answer to ${event.question}` })
  })
  expect(open).toEqual(["First?", "Second?"])
  const order = events.flatMap((event) =>
    event.type === "clarify-request" || event.type === "tool-end" ? [event.type] : [],
  )
  expect(order).toEqual(["clarify-request", "tool-end", "clarify-request", "tool-end"])
  expect(house.model.toolResults(1).map(({ text }) => JSON.parse(text).user_response)).toEqual([
    "answer to First?",
    "answer to Second?",
  ])
})

test("an interrupt at a question settles it, and an answer that comes too late is refused", async () => {
  await using house = await assembleApp([ASKS, says("Hello.")])
  const session = await house.open()
  let requestId = ""
  const { end } = await runToEnd(session, "paint", (event) => {
    if (event.type !== "clarify-request") return
    requestId = event.requestId
    session.interrupt()
  })
  expect([end.outcome, session.answer(requestId, { kind: "clarify", text: "Blue" })]).toEqual(["interrupted", false])
  await runToEnd(session, "never mind")
  expect(wireProblems(house.model, 1)).toEqual([])
})
