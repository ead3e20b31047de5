import { expect, test } from "vitest"

import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { wireProblems } from "./on-every-wire.ts"

test("after a process that ended before the answer, the user's message is stored once and the turn continues", async () => {
  const never = new Promise<void>(() => undefined)
  await using assembled = await assembleApp([{ ...says("never"), waitsFor: never }, says("It is blue.")])
  const session = await assembled.open()
  // Abandoned during its request, like a killed process; it ends when the server closes.
  const lost = runToEnd(session, "which colour is the door?").catch(() => undefined)
  await assembled.model.received(0)
  const later = await assembled.restart()
  const store = await later.app.store()
  expect((await store.conversation(session.id)).map(({ role, content }) => [role, content])).toEqual([
    ["user", "which colour is the door?"],
  ])
  const { end } = await runToEnd(await later.open({ resume: session.id }), "go on")
  expect(end.result.finalResponse).toBe("It is blue.")
  const words = assembled.model.view(1).messages.map(({ text }) => text)
  expect(words).toEqual(["which colour is the door?", expect.stringContaining("There was no reply"), "go on"])
  expect(wireProblems(assembled.model, 1)).toEqual([])
  await later[Symbol.asyncDispose]()
  session.interrupt()
  await lost
})

test("a model change is announced once in the conversation; the prompt stays", async () => {
  await using assembled = await assembleApp([says("One."), says("Two."), says("Three.")])
  const session = await assembled.open()
  await runToEnd(session, "one")
  const other = assembled.app.chooseModel({ model: "other-model" })
  if (!other.ok) throw new Error(other.error.message)
  expect(await session.switchModel(other.value)).toEqual({ ok: true, value: undefined })
  await runToEnd(session, "two")
  await runToEnd(session, "three")
  expect(new Set([0, 1, 2].map((index) => assembled.model.view(index).system)).size).toBe(1)
  const named = assembled.model.view(2).messages.map(({ text }) => text.includes("answered by other-model"))
  expect(named).toEqual([false, false, true, false, false])
})

test("the activity summary names the running tool, and none afterwards", async () => {
  await using assembled = await assembleApp([callsTool("terminal", { command: "echo hi" }), says("Hi.")])
  const session = await assembled.open()
  let during: ReturnType<typeof session.activity> | undefined
  await runToEnd(session, "go", (event) => {
    if (event.type === "tool-start") during = session.activity()
  })
  expect(during).toMatchObject({
    last_activity_desc: "running terminal",
    current_tool: "terminal",
    api_call_count: 1,
    budget_used: 1,
    budget_max: 90,
  })
  expect(session.activity()).toMatchObject({ last_activity_desc: "run-end", current_tool: null, api_call_count: 2 })
})
