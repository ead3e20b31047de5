import { expect, test } from "vitest"

import { callsTool, raw, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

/** A response in the Chat Completions format that is closed properly, but has neither a finish reason nor `[DONE]`. */
function closedEarly(...deltas: readonly object[]) {
  const frames = deltas.map((delta) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`)
  return raw(frames.join(""), { "content-type": "text/event-stream" })
}

const NAME_ONLY = { tool_calls: [{ index: 0, id: "c1", function: { name: "terminal" } }] }

test("a call of which only the name arrived is not run; the request is sent again", async () => {
  await using assembled = await assembleApp([
    closedEarly(NAME_ONLY),
    callsTool("terminal", { command: "echo ran" }),
    says("Done."),
  ])
  const { events, end } = await runToEnd(await assembled.open(), "go")
  expect(end.result.finalResponse).toBe("Done.")
  expect(events.flatMap((event) => (event.type === "tool-end" ? [event.outcome] : []))).toEqual(["ok"])
  expect(assembled.model.requests[1]?.rawBody).toBe(assembled.model.requests[0]?.rawBody)
})

test("text that was shown is kept, and the result and a warning say that it is partial", async () => {
  await using assembled = await assembleApp([
    closedEarly({ content: "The first " }, { content: "half" }),
    says("Next."),
  ])
  const session = await assembled.open()
  const { events, end } = await runToEnd(session, "go")
  expect(end.result).toMatchObject({ finalResponse: expect.stringContaining("The first half"), partial: true })
  expect(events).toContainEqual(
    expect.objectContaining({ type: "status", kind: "warning", text: expect.stringContaining("connection was lost") }),
  )
  expect((await runToEnd(session, "continue")).end.result.partial).toBeUndefined()
})
