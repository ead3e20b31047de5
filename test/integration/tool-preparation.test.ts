import { expect, test } from "vitest"

import { prewarmedShells } from "../support/prewarmed-shells.ts"
import { callsTool, says, waitsFor } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

/** Allows for a busy machine. */
const POLL = { timeout: 10_000 }

test("while the model thinks about its first reply, a shell is started for the call that may follow", async () => {
  const thought = Promise.withResolvers<void>()
  await using assembled = await assembleApp([
    callsTool("terminal", { command: "echo $PPID $$" }, waitsFor(thought.promise)),
    says("Done."),
  ])
  const session = await assembled.open()
  const running = runToEnd(session, "go")
  await expect.poll(() => prewarmedShells(process.pid).length, POLL).toBe(1)
  thought.resolve()
  expect((await running).end.outcome).toBe("completed")
  expect(assembled.model.toolResults(1)).toHaveLength(1)
})

test("a run without a command leaves no process", async () => {
  const thought = Promise.withResolvers<void>()
  await using assembled = await assembleApp([says("No command needed.", waitsFor(thought.promise))])
  const session = await assembled.open()
  const running = runToEnd(session, "go")
  await expect.poll(() => prewarmedShells(process.pid).length, POLL).toBe(1)
  thought.resolve()
  await running
  await session.close("test_end")
  await expect.poll(() => prewarmedShells(process.pid), POLL).toEqual([])
})

test("sessions without a terminal start no shell", async () => {
  const thought = Promise.withResolvers<void>()
  let isPrepared = false
  await using assembled = await assembleApp([says("Fine.", waitsFor(thought.promise))], {
    facets: [
      () => ({
        name: "observer",
        awaitingReply: () => {
          isPrepared = true
          return Promise.resolve()
        },
      }),
    ],
  })
  const session = await assembled.open({ toolsets: ["file"] })
  const running = runToEnd(session, "go")
  await expect.poll(() => isPrepared, POLL).toBe(true)
  expect(prewarmedShells(process.pid)).toEqual([])
  thought.resolve()
  await running
})
