import { expect, test } from "vitest"

import { startModelServer } from "../../test/support/model-server/server.ts"
import { says } from "../../test/support/model-server/turn.ts"
import type { Clock } from "../base/clock.ts"
import { environmentFrom } from "../config/environment.ts"
import type { ChosenModel } from "./choose-model.ts"
import { DEMO_RUNTIME } from "./demo/runtime.ts"
import type { ModelClient, ModelOutcome } from "./model.ts"
import { openModel } from "./open-model.ts"

const clock: Clock = { now: () => 0, sleep: () => Promise.resolve() }
const OPTIONS = {
  clock,
  random: () => 0,
  maxAttempts: 1,
  version: "1.2.3",
  environment: environmentFrom({}),
  userHome: "/nobody",
  pool: () => Promise.resolve(undefined),
  fallbacks: [],
  guardrail: {},
  awsRegion: "",
  openRouter: {},
}
const DEMO: ChosenModel = {
  runtime: DEMO_RUNTIME,
  key: undefined,
  managed: false,
  headers: {},
  extraBody: {},
  wireAssumed: false,
  demoByDefault: true,
}

test("a server is asked with the key, the own headers and our name", async () => {
  await using model = await startModelServer([says("Hello")])
  const opened = await openModel(
    {
      runtime: { ...DEMO_RUNTIME, provider: "custom", wire: "chat_completions", baseUrl: `${model.url}/v1` },
      key: "secret",
      managed: false,
      headers: { "x-team": "den" },
      extraBody: {},
      wireAssumed: false,
      demoByDefault: false,
    },
    OPTIONS,
  )
  expect(opened.ok && (await outcomeOf(opened.value))).toMatchObject({ kind: "reply", reply: { content: "Hello" } })
  expect(model.requests[0]?.headers).toMatchObject({
    authorization: "Bearer secret",
    "user-agent": "hermes-agent/1.2.3",
    "x-team": "den",
  })
})

test("the demo answers by rules, or by a script", async () => {
  const byRules = await openModel(DEMO, OPTIONS)
  expect(byRules.ok && (await outcomeOf(byRules.value))).toMatchObject({ reply: { finishReason: "stop" } })
  const byScript = await openModel(DEMO, { ...OPTIONS, demoScript: [{ say: "As written." }] })
  expect(byScript.ok && (await outcomeOf(byScript.value))).toMatchObject({ reply: { content: "As written." } })
})

test("a script that cannot be used is told", async () => {
  expect(await openModel(DEMO, { ...OPTIONS, demoScript: [{ sai: "x" }] })).toEqual({
    ok: false,
    error:
      'the demo script cannot be used: step 1 has an unknown field "sai"; known are say, think, call, fault, finish, wait_ms',
  })
})

async function outcomeOf(client: ModelClient): Promise<ModelOutcome> {
  const request = { model: "m", system: "", messages: [{ role: "user", content: "hi" }], tools: [] } as const
  const stream = client.stream(request, { signal: new AbortController().signal })
  for (;;) {
    const next = await stream.next()
    if (next.done !== true) continue
    client.close()
    return next.value
  }
}
