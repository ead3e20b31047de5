import { expect, test } from "vitest"

import { createOpenCalls } from "./open-calls.ts"
import type { RunServedCall } from "./served-call.ts"

const CALL = { tool: "messages_read", args: { session_key: "a" }, canAsk: true }
const round = { signal: new AbortController().signal }
const question = { message: "May it?", choices: ["Allow once", "Deny"] }

/** A call that asks once and returns the answer. `timeout` ends the question as Hermes' own time limit does. */
const asks =
  (timeout: AbortSignal = round.signal): RunServedCall =>
  async ({ ask }) => ({ text: `answer: ${String(await ask?.(question, timeout))}`, outcome: "ok" })

test("a call goes on with the answer to its question", async () => {
  const calls = createOpenCalls(asks())
  const call = calls.start(CALL)
  expect(await call.step(round)).toEqual({ kind: "question", question })
  const found = calls.find(call.id, CALL)
  found?.answer("Allow once")
  expect(await found?.step(round)).toEqual({ kind: "result", result: { text: "answer: Allow once", outcome: "ok" } })
  expect(calls.find(call.id, CALL)).toBeUndefined()
})

test("an answer reaches no other call, and a repeated question is the same", async () => {
  const calls = createOpenCalls(asks())
  const call = calls.start(CALL)
  await call.step(round)
  expect(calls.find("guessed", CALL)).toBeUndefined()
  expect(calls.find(call.id, { ...CALL, args: { session_key: "b" } })).toBeUndefined()
  expect(await calls.find(call.id, CALL)?.step(round)).toEqual({ kind: "question", question })
})

test("an answer after the time limit changes nothing", async () => {
  const timeout = new AbortController()
  const calls = createOpenCalls(asks(timeout.signal))
  const call = calls.start(CALL)
  await call.step(round)
  timeout.abort()
  call.answer("Allow once")
  expect(await call.step(round)).toMatchObject({ result: { text: "answer: undefined" } })
})

test("when too many calls wait for an answer, the oldest is declined", async () => {
  const calls = createOpenCalls(asks())
  const oldest = calls.start(CALL)
  await oldest.step(round)
  for (let count = 0; count < 100; count += 1) calls.start(CALL)
  expect(calls.find(oldest.id, CALL)).toBeUndefined()
  expect(await oldest.step(round)).toMatchObject({ result: { text: "answer: undefined" } })
})

test("a request that its client cancels cancels the call, and progress goes to the request that is open", async () => {
  const { promise: cancelled, resolve } = Promise.withResolvers<void>()
  const calls = createOpenCalls(async ({ signal, onProgress }) => {
    signal.addEventListener("abort", () => resolve())
    onProgress?.("half")
    await cancelled
    return { text: "cancelled", outcome: "error" }
  })
  const client = new AbortController()
  const reports: string[] = []
  const call = calls.start(CALL)
  const step = call.step({ signal: client.signal, onProgress: (text) => void reports.push(text) })
  client.abort()
  expect(await step).toMatchObject({ result: { text: "cancelled" } })
})
