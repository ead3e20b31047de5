import { expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import {
  callsTool,
  cutsAfter,
  emptyStream,
  hangsUp,
  htmlError,
  raw,
  refuses,
  says,
  status,
} from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

const WIRES = [
  ["chat_completions", "/v1", "test-model"],
  ["anthropic_messages", "", "claude-opus-4-6"],
  ["codex_responses", "/v1", "test-model"],
  ["gemini_native", "/v1beta", "gemini-2.5-pro"],
  ["bedrock_converse", "", "anthropic.claude-opus-4-6"],
] as const

/** What goes wrong, how often the server is asked with two attempts allowed, and the class the person is told. */
const FAULTS: readonly (readonly [string, () => ScriptEntry, number, string])[] = [
  ["401", () => refuses(401, "invalid key"), 1, "auth"],
  ["402 without credit", () => refuses(402, "insufficient credits"), 1, "billing"],
  ["402 for a while", () => refuses(402, "Usage limit reached, try again in 5 minutes"), 2, "rate_limit"],
  ["403", () => refuses(403, "not for you"), 1, "auth"],
  ["404 of a model", () => refuses(404, "x is not a valid model"), 1, "model_not_found"],
  ["404", () => status(404, "nothing here"), 2, "unknown"],
  ["408", () => refuses(408, "too slow"), 2, "timeout"],
  ["413", () => refuses(413, "too large"), 1, "payload_too_large"],
  ["429 with a wait", () => refuses(429, "slow down", { "retry-after": "1" }), 2, "rate_limit"],
  ["429", () => refuses(429, "slow down"), 2, "rate_limit"],
  ["500", () => refuses(500, "sorry"), 2, "server_error"],
  ["502 with a page", () => htmlError(502, "Bad Gateway"), 2, "server_error"],
  ["503", () => refuses(503, "busy"), 2, "overloaded"],
  ["529", () => refuses(529, "overloaded"), 2, "overloaded"],
  ["a connection that is reset", () => hangsUp(), 2, "timeout"],
  [
    "a page instead of an answer",
    () => raw("<html>Welcome</html>", { "content-type": "text/html" }),
    2,
    "server_error",
  ],
]

test.each(
  WIRES.flatMap(([wire, path, model]) =>
    FAULTS.map(([name, ...fault]) => [wire, name, path, model, ...fault] as const),
  ),
)("%s: %s", async (wire, _name, path, model, fault, requests, reason) => {
  await using assembled = await assembleApp([fault(), fault(), fault(), fault()], {
    basePath: path,
    model,
    config: `  api_mode: ${wire}\n  api_key: test-key-0123456789\nagent:\n  api_max_retries: 2\n`,
    env: { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret-of-the-test" },
    clock: { ...systemClock, sleep: () => Promise.resolve() },
  })
  const { end } = await runToEnd(await assembled.open(), "hello")
  expect({ outcome: end.outcome, reason: end.result.error?.reason, requests: assembled.model.requests.length }).toEqual(
    {
      outcome: "error",
      reason,
      requests,
    },
  )
})

test.each(WIRES)("%s: what fails once is asked again and answered", async (wire, path, model) => {
  for (const fault of [emptyStream(), hangsUp(), refuses(503, "busy")]) {
    await using assembled = await assembleApp([fault, says("Hello again")], {
      basePath: path,
      model,
      config: `  api_mode: ${wire}\n  api_key: test-key-0123456789\n`,
      env: { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret-of-the-test" },
      clock: { ...systemClock, sleep: () => Promise.resolve() },
    })
    const { end } = await runToEnd(await assembled.open(), "hello")
    expect({ text: end.result.finalResponse, requests: assembled.model.requests.length }).toEqual({
      text: "Hello again",
      requests: 2,
    })
  }
})

test.each(WIRES)("%s: a call that was cut inside its arguments never runs", async (wire, path, model) => {
  const whole = { command: `touch made-by-a-cut-call # ${"x".repeat(2000)}` }
  await using assembled = await assembleApp([callsTool("terminal", whole, cutsAfter(1200)), says("Done.")], {
    basePath: path,
    model,
    config: `  api_mode: ${wire}\n  api_key: test-key-0123456789\n`,
    env: { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret-of-the-test" },
    clock: { ...systemClock, sleep: () => Promise.resolve() },
  })
  const { end } = await runToEnd(await assembled.open(), "go")
  expect({
    text: end.result.finalResponse,
    tools: end.result.toolCalls,
    requests: assembled.model.requests.length,
  }).toEqual({
    text: "Done.",
    tools: 0,
    requests: 2,
  })
})

test.each([
  ["Unrecognized request argument supplied: stream_options", { stream: true }],
  ["streaming is not supported for this model", { stream: false }],
])("a server that says %j is asked in a way it understands, for the whole session", async (said, body) => {
  await using assembled = await assembleApp([refuses(400, said), says("Hello"), says("again")])
  const session = await assembled.open()
  expect((await runToEnd(session, "hello")).end.result.finalResponse).toBe("Hello")
  expect((await runToEnd(session, "more")).end.result.finalResponse).toBe("again")
  expect(assembled.model.requests.slice(1).map((request) => request.body)).toMatchObject([body, body])
  expect(assembled.model.requests.slice(1).every(({ rawBody }) => !rawBody.includes("stream_options"))).toBe(true)
})

test("GPT-5 on a server without the Responses wire goes on with the older one", async () => {
  await using assembled = await assembleApp([status(404, "not found"), says("Hello"), says("again")], {
    model: "gpt-5-local",
  })
  const session = await assembled.open()
  expect((await runToEnd(session, "hello")).end.result.finalResponse).toBe("Hello")
  expect((await runToEnd(session, "more")).end.result.finalResponse).toBe("again")
  expect(assembled.model.requests.map(({ wire }) => wire)).toEqual([
    "responses",
    "chat-completions",
    "chat-completions",
  ])
})
