import { describe, expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import { encodeStream, frameBytes } from "../support/model-server/encode-reply.ts"
import { callsTool, corrupt, cutsAfter, raw, refuses, repeat, says } from "../support/model-server/turn.ts"
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

const WIRES = [
  ["chat_completions", "chat-completions", "/v1", "test-model"],
  ["anthropic_messages", "anthropic-messages", "", "claude-opus-4-6"],
  ["codex_responses", "responses", "/v1", "test-model"],
  ["gemini_native", "gemini", "/v1beta", "gemini-2.5-pro"],
  ["bedrock_converse", "bedrock-converse", "", "anthropic.claude-opus-4-6"],
] as const

describe.each(WIRES)("%s: a stream that ends inside a frame", (wire, format, basePath, model) => {
  const options = {
    basePath,
    model,
    config: `  api_mode: ${wire}\n  api_key: test-key-0123456789\n`,
    env: { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret-of-the-test" },
    clock: { ...systemClock, sleep: () => Promise.resolve() },
  }
  const whole = frameBytes(encodeStream(format, says(["The first ", "half 🌍", " and the rest"])))
  const insideCharacter = whole.indexOf("🌍") + 2
  const insideFirstFrame = 20
  const type = {
    "content-type": format === "bedrock-converse" ? "application/vnd.amazon.eventstream" : "text/event-stream",
  }

  test.each([
    ["closed properly inside a character", raw(whole.subarray(0, insideCharacter), type)],
    ["closed properly inside the JSON", raw(whole.subarray(0, whole.indexOf("half") + 2), type)],
    ["cut inside a chunk", { ...raw(whole, type), ...cutsAfter(insideCharacter) }],
    ["damaged in the middle", says(["The first ", "half", " and the rest"], corrupt(1))],
  ])("%s: the shown text is kept as a partial answer", async (_name, turn) => {
    await using assembled = await assembleApp([turn, says("Next.")], options)
    const session = await assembled.open()
    const { events, end } = await runToEnd(session, "go")
    const shown = events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join("")
    expect({
      shown,
      outcome: end.outcome,
      partial: end.result.partial,
      requests: assembled.model.requests.length,
    }).toEqual({
      shown: "The first ",
      outcome: "completed",
      partial: true,
      requests: 1,
    })
    const next = await runToEnd(session, "continue")
    expect([next.end.result.finalResponse, next.end.result.partial]).toEqual(["Next.", undefined])
    expect(assembled.model.view(1).messages[1]).toMatchObject({
      role: "assistant",
      text: expect.stringContaining("The first") as string,
    })
  })

  test("before anything was shown, the request is sent again", async () => {
    await using assembled = await assembleApp([raw(whole.subarray(0, insideFirstFrame), type), says("Whole.")], options)
    const { end } = await runToEnd(await assembled.open(), "go")
    expect([end.result.finalResponse, end.result.partial, assembled.model.requests.length]).toEqual([
      "Whole.",
      undefined,
      2,
    ])
  })
})

test("reasoning in tags is not shown when the server does not stream", async () => {
  await using assembled = await assembleApp([
    refuses(400, "streaming is not supported for this model"),
    repeat(says("<think>secret plan</think>\n\nHello")),
  ])
  const { events, end } = await runToEnd(await assembled.open(), "go")
  const textOf = (type: "text-delta" | "reasoning-delta"): string =>
    events.flatMap((event) => (event.type === type ? [event.text] : [])).join("")
  expect([textOf("text-delta"), textOf("reasoning-delta"), end.result.finalResponse]).toEqual([
    "Hello",
    "secret plan",
    "Hello",
  ])
})
