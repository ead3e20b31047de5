import { expect, test } from "vitest"

import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { openToolSession, QUIET } from "./tool-session.ts"

const MEGABYTES = 200

test("memory stays bounded for a huge output, from the command to the model", async () => {
  await using app = await assembleApp([], { config: `${QUIET}tool_output:\n  max_bytes: 2000\n` })
  await using tools = await openToolSession(app)
  await tools.fields("terminal", { command: "head -c 2000000 /dev/zero | tr '\\0' x" })
  app.model.push(
    callsTool("terminal", { command: `head -c ${MEGABYTES}000000 /dev/zero | tr '\\0' x | fold -w 100` }),
    says("Much."),
  )
  const used = (): number => process.memoryUsage().heapUsed + process.memoryUsage().external
  const before = used()
  let peak = 0
  await runToEnd(tools.session, "print it", () => {
    peak = Math.max(peak, used() - before)
  })
  const [result] = app.model.toolResults(app.model.requests.length - 1)
  expect(result?.text).toMatch(/\d{9} of \d{9} characters left out/u)
  expect(result?.text.length).toBeLessThan(2500)
  expect(peak / 1_000_000).toBeLessThan(MEGABYTES / 2)
})

test("a background process outlives its call, accepts input, and its exit is reported exactly once", async () => {
  await using app = await assembleApp([], { config: QUIET })
  await using tools = await openToolSession(app)
  const { session_id: id } = await tools.fields("terminal", {
    command: "read one; echo got $one; read two; echo got $two; cat; echo over",
    background: true,
    notify_on_complete: true,
  })
  await tools.fields("process", { action: "submit", session_id: id, data: "peas" })
  await tools.fields("process", { action: "write", session_id: id, data: "beans\nrest" })
  await tools.fields("process", { action: "close", session_id: id })
  await tools.session.background.waitForOne(AbortSignal.timeout(20_000))
  expect(tools.session.background.take()).toMatch(
    new RegExp(
      String.raw`^\[IMPORTANT: Background process ${String(id)} completed with exit code 0\.[^]*got peas\ngot beans\nrestover\n\[end of output \w+\]\]$`,
      "u",
    ),
  )
  expect(tools.session.background.take()).toBeUndefined()
  const refused = await tools.fields("process", { action: "submit", session_id: id, data: "more" })
  expect(refused["error"]).toContain("nothing can be written")
})
