import { expect, test } from "vitest"

import { callsTool, reply, says } from "../../support/model-server/turn.ts"
import { manualClock } from "../../support/manual-clock.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import { wireProblems } from "./on-every-wire.ts"

const ASKS = callsTool("clarify", { question: "Which colour?", choices: ["Red", "Blue"] })

function answerOf(assembled: AssembledApp): unknown {
  return JSON.parse(assembled.model.toolResults(1)[0]?.text ?? "{}")
}

test("a question reaches the user and the answer reaches the model", async () => {
  await using assembled = await assembleApp([ASKS, says("Blue it is.")])
  const session = await assembled.open()
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
  expect(answerOf(assembled)).toEqual({
    question: "Which colour?",
    choices_offered: ["Red", "Blue"],
    user_response: "Blue",
  })
})

test("a question that times out is left to the model", async () => {
  const clock = manualClock()
  await using assembled = await assembleApp([ASKS, says("I took red.")], { clock, config: "clarify:\n  timeout: 30\n" })
  const { end, events } = await runToEnd(await assembled.open(), "paint", async (event) => {
    if (event.type !== "clarify-request") return
    expect(event.expiresAt).toBeCloseTo(clock.now() / 1000 + 30, 1)
    await clock.advance(30_000)
  })
  expect(end.result.finalResponse).toBe("I took red.")
  expect(events).toContainEqual(expect.objectContaining({ kind: "answered", choice: "timeout", by: "noninteractive" }))
  expect(answerOf(assembled)).toMatchObject({ user_response: expect.stringContaining("Use your best judgement") })
})

test("an unattended question is answered at once and not emitted", async () => {
  await using assembled = await assembleApp([ASKS, says("I took red.")])
  const { events, end } = await runToEnd(await assembled.open({ attended: false }), "paint")
  expect(end.result.finalResponse).toBe("I took red.")
  expect(events.some(({ type }) => type === "clarify-request")).toBe(false)
  expect(answerOf(assembled)).toEqual({
    error: "no user is available to answer; use your best judgement and state what you assumed",
  })
})

test("two questions of one reply are asked one after the other", async () => {
  const call = (question: string) => ({ name: "clarify", input: { question } })
  await using assembled = await assembleApp([reply({ calls: [call("First?"), call("Second?")] }), says("Thanks.")])
  const session = await assembled.open()
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
  expect(assembled.model.toolResults(1).map(({ text }) => JSON.parse(text).user_response)).toEqual([
    "answer to First?",
    "answer to Second?",
  ])
})

test("an interrupt settles an open question, and a late answer is rejected", async () => {
  await using assembled = await assembleApp([ASKS, says("Hello.")])
  const session = await assembled.open()
  let requestId = ""
  const { end } = await runToEnd(session, "paint", (event) => {
    if (event.type !== "clarify-request") return
    requestId = event.requestId
    session.interrupt()
  })
  expect([end.outcome, session.answer(requestId, { kind: "clarify", text: "Blue" })]).toEqual(["interrupted", false])
  await runToEnd(session, "never mind")
  expect(wireProblems(assembled.model, 1)).toEqual([])
})
