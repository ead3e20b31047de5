import { expect, test } from "vitest"

import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { openHands, QUIET } from "./hands.ts"

const MEGABYTES = 200

test("a gigantic output keeps the memory flat, from the command to what the model reads", async () => {
  await using house = await assembleApp([], { config: `${QUIET}tool_output:\n  max_bytes: 2000\n` })
  await using hands = await openHands(house)
  await hands.fields("terminal", { command: "head -c 2000000 /dev/zero | tr '\\0' x" })
  house.model.push(
    callsTool("terminal", { command: `head -c ${MEGABYTES}000000 /dev/zero | tr '\\0' x | fold -w 100` }),
    says("Much."),
  )
  const used = (): number => process.memoryUsage().heapUsed + process.memoryUsage().external
  const before = used()
  let most = 0
  await runToEnd(hands.session, "print it", () => {
    most = Math.max(most, used() - before)
  })
  const [result] = house.model.toolResults(house.model.requests.length - 1)
  expect(result?.text).toMatch(/\d{9} of \d{9} characters left out/u)
  expect(result?.text.length).toBeLessThan(2500)
  expect(most / 1_000_000).toBeLessThan(MEGABYTES / 2)
})

test("a background process outlives its call, takes input, and its end is told exactly once", async () => {
  await using house = await assembleApp([], { config: QUIET })
  await using hands = await openHands(house)
  const { session_id: id } = await hands.fields("terminal", {
    command: "read one; echo got $one; read two; echo got $two; cat; echo over",
    background: true,
    notify_on_complete: true,
  })
  await hands.fields("process", { action: "submit", session_id: id, data: "peas" })
  await hands.fields("process", { action: "write", session_id: id, data: "beans\nrest" })
  await hands.fields("process", { action: "close", session_id: id })
  await hands.session.background.waitForOne(AbortSignal.timeout(20_000))
  expect(hands.session.background.take()).toMatch(
    new RegExp(
      String.raw`^\[IMPORTANT: Background process ${String(id)} completed with exit code 0\.[^]*got peas\ngot beans\nrestover\]$`,
      "u",
    ),
  )
  expect(hands.session.background.take()).toBeUndefined()
  const refused = await hands.fields("process", { action: "submit", session_id: id, data: "more" })
  expect(refused["error"]).toContain("nothing can be written any more")
})
