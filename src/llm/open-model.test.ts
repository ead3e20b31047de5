import { describe, expect, test } from "vitest"

import { startModelServer } from "../../test/support/model-server/server.ts"
import { refuses, repeat, reply, says, stallsAfter, withHeaders } from "../../test/support/model-server/turn.ts"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import type { Clock } from "../base/clock.ts"
import { createLogger } from "../base/logger.ts"
import { environmentFrom } from "../config/environment.ts"
import { homeAt } from "../config/home.ts"
import type { ChosenModel } from "./choose-model.ts"
import { singleCredential } from "./credential.ts"
import type { Credential } from "./credential.ts"
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
  home: homeAt("/nobody/.hermes", environmentFrom({})),
  log: createLogger({ sinks: [], redact: (text) => text }),
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
  ownAddress: true,
  windowIsGuess: false,
  timeouts: {},
  wireAssumed: false,
  demoByDefault: true,
}

function remote(url: string): ChosenModel {
  const runtime = { ...DEMO_RUNTIME, provider: "custom", wire: "chat_completions", baseUrl: `${url}/v1` } as const
  return { ...DEMO, runtime, demoByDefault: false }
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
      ownAddress: true,
      windowIsGuess: false,
      timeouts: {},
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

describe("a login with an address of its own", () => {
  const login = (baseUrl: string): Credential => ({
    id: "l",
    label: "login",
    secret: "token-of-the-login",
    kind: "oauth",
    source: "device_code",
    baseUrl,
  })
  const chosenAt = (baseUrl: string, ownAddress: boolean): ChosenModel => ({
    ...DEMO,
    runtime: { ...DEMO_RUNTIME, provider: "nous", wire: "chat_completions", baseUrl },
    managed: true,
    ownAddress,
    demoByDefault: false,
  })

  test.each([
    ["is sent there when nobody named another one", true, [0, 1]],
    ["goes where the person said when they named one", false, [1, 0]],
  ])("%s", async (_name, ownAddress, requests) => {
    await using usual = await startModelServer([says("Hello")])
    await using issuer = await startModelServer([says("Hello")])
    await using place = await temporaryHome()
    const opened = await openModel(chosenAt(`${usual.url}/v1`, ownAddress), {
      ...OPTIONS,
      home: homeAt(place.path, OPTIONS.environment),
      pool: () => Promise.resolve(singleCredential("nous", login(`${issuer.url}/v1`))),
    })
    expect(opened.ok && (await outcomeOf(opened.value))).toMatchObject({ reply: { content: "Hello" } })
    expect([usual.requests.length, issuer.requests.length]).toEqual(requests)
    expect([...usual.requests, ...issuer.requests][0]?.headers["authorization"]).toBe("Bearer token-of-the-login")
  })

  test("is not sent over an open line to a stranger", async () => {
    await using usual = await startModelServer([says("Hello")])
    await using place = await temporaryHome()
    const opened = await openModel(chosenAt(`${usual.url}/v1`, true), {
      ...OPTIONS,
      home: homeAt(place.path, OPTIONS.environment),
      pool: () => Promise.resolve(singleCredential("nous", login("http://inference.example.com/v1"))),
    })
    expect(opened.ok && (await outcomeOf(opened.value))).toMatchObject({ reply: { content: "Hello" } })
    expect(usual.requests).toHaveLength(1)
  })
})

test("a used-up limit of Nous is kept, and the next client does not ask", async () => {
  await using place = await temporaryHome()
  const headers = {
    "x-ratelimit-limit-requests": "5",
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-reset-requests": "120",
  }
  await using model = await startModelServer([refuses(429, "slow down", headers)])
  const options = { ...OPTIONS, home: homeAt(place.path, OPTIONS.environment) }
  const chosen: ChosenModel = {
    ...DEMO,
    runtime: { ...DEMO_RUNTIME, provider: "nous", wire: "chat_completions", baseUrl: `${model.url}/v1` },
    key: "k",
    demoByDefault: false,
  }
  for (const message of [/slow down/, /^the limit of nous is used up for another 2m/]) {
    const opened = await openModel(chosen, options)
    expect(opened.ok && (await outcomeOf(opened.value))).toMatchObject({
      failure: { reason: "rate_limit", message: expect.stringMatching(message) as string },
    })
  }
  expect(model.requests).toHaveLength(1)
})

test("requests keep the distance that the settings want, and wait for no more than that", async () => {
  await using model = await startModelServer([repeat(says("Hello."))])
  const slept: number[] = []
  let now = 1000
  const clock = {
    now: () => now,
    sleep: (ms: number) => {
      slept.push(ms)
      now += ms
      return Promise.resolve()
    },
  }
  const chosen: ChosenModel = { ...remote(model.url), gapSeconds: 2.5 }
  const opened = await openModel(chosen, { ...OPTIONS, clock })
  if (!opened.ok) throw new Error(opened.error)
  await outcomeOf(opened.value)
  now += 500
  await outcomeOf(opened.value)
  now += 4000
  await outcomeOf(opened.value)
  expect([model.requests.length, slept]).toEqual([3, [2000]])
})

test("what a server says about its limits is kept until it says something else", async () => {
  const limits = { "x-ratelimit-limit-tokens": "900", "x-ratelimit-remaining-tokens": "400" }
  await using model = await startModelServer([says("Hello.", withHeaders(limits)), says("Hello.")])
  const opened = await openModel(remote(model.url), OPTIONS)
  if (!opened.ok) throw new Error(opened.error)
  expect(opened.value.rateLimits).toEqual({})
  const told = { tokens: { limit: 900, remaining: 400, resetSeconds: 0, capturedAt: expect.any(Number) as number } }
  for (const _turn of [1, 2]) {
    await outcomeOf(opened.value)
    expect(opened.value.rateLimits).toEqual(told)
  }
})

test.each([
  { model: "qwen-3", kept: {} },
  { model: "deepseek-v3", kept: { reasoning_content: "Hm." } },
])("the text of the reasoning of $model is kept for who wants it back alone", async ({ model: name, kept }) => {
  await using model = await startModelServer([reply({ reasoning: "Hm.", text: "Hello." })])
  const chosen = remote(model.url)
  const opened = await openModel({ ...chosen, runtime: { ...chosen.runtime, model: name } }, OPTIONS)
  if (!opened.ok) throw new Error(opened.error)
  const outcome = await outcomeOf(opened.value)
  expect(outcome.kind === "reply" && [outcome.reply.reasoning, outcome.reply.carriers]).toEqual(["Hm.", kept])
})

describe("the window", () => {
  const claude = (baseUrl: string, windowIsGuess: boolean): ChosenModel => ({
    ...DEMO,
    runtime: {
      provider: "anthropic",
      model: "claude-sonnet-4-5",
      wire: "anthropic_messages",
      baseUrl,
      contextLength: 9000,
      credentialSource: "test",
      billingMode: "metered",
    },
    windowIsGuess,
    demoByDefault: false,
  })

  test.each([
    ["a guess is looked up when somebody wants to know it exactly", true, true],
    ["what the settings or a server said stays", false, false],
  ])("%s", async (_name, windowIsGuess, changes) => {
    const opened = await openModel(claude("http://127.0.0.1:1", windowIsGuess), OPTIONS)
    if (!opened.ok) throw new Error(opened.error)
    await opened.value.confirmWindow?.({ signal: new AbortController().signal })
    expect(opened.value.runtime.contextLength !== 9000).toBe(changes)
    opened.value.close()
  })

  test("that a server named holds for the answer that is asked for, too", async () => {
    await using place = await temporaryHome()
    await using model = await startModelServer([refuses(400, "maximum context length is 4096 tokens"), says("Hello")])
    const home = homeAt(place.path, OPTIONS.environment)
    const opened = await openModel(claude(model.url, false), { ...OPTIONS, home })
    if (!opened.ok) throw new Error(opened.error)
    expect(await outcomeOf(opened.value)).toMatchObject({ failure: { compress: true, windowTokens: 4096 } })
    expect(await outcomeOf(opened.value)).toMatchObject({ reply: { content: "Hello" } })
    expect(model.requests.map(({ body }) => body)).toMatchObject([{ max_tokens: 8999 }, { max_tokens: 4095 }])
  })
})

test("the limit of the whole time ends an answer that never stops", async () => {
  await using model = await startModelServer([says(["on ", "and on"], stallsAfter({ bytes: 0 }))])
  const opened = await openModel(
    {
      ...DEMO,
      runtime: { ...DEMO_RUNTIME, provider: "custom", wire: "chat_completions", baseUrl: `${model.url}/v1` },
      timeouts: { requestSeconds: 0.1 },
      demoByDefault: false,
    },
    OPTIONS,
  )
  expect(opened.ok && (await outcomeOf(opened.value))).toMatchObject({ failure: { reason: "timeout" } })
  expect(await model.requests[0]?.outcome).not.toBe("sent")
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
