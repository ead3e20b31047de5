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
  home: homeAt("/nonexistent/.hermes", environmentFrom({})),
  log: createLogger({ sinks: [], redact: (text) => text }),
  userHome: "/nonexistent",
  pool: () => Promise.resolve(undefined),
  fallbacks: [],
  guardrail: {},
  awsRegion: "",
  openRouter: {},
}
const DEMO: ChosenModel = {
  runtime: DEMO_RUNTIME,
  key: undefined,
  usesPool: false,
  headers: {},
  extraBody: {},
  usesDefaultEndpoint: true,
  windowIsGuess: false,
  timeouts: {},
  wireAssumed: false,
  demoByDefault: true,
}

function remote(url: string): ChosenModel {
  const runtime = { ...DEMO_RUNTIME, provider: "custom", wire: "chat_completions", baseUrl: `${url}/v1` } as const
  return { ...DEMO, runtime, demoByDefault: false }
}

test("a request carries the key, the configured headers and the user agent", async () => {
  await using model = await startModelServer([says("Hello")])
  const opened = await openModel(
    {
      runtime: { ...DEMO_RUNTIME, provider: "custom", wire: "chat_completions", baseUrl: `${model.url}/v1` },
      key: "secret",
      usesPool: false,
      headers: { "x-team": "den" },
      extraBody: {},
      usesDefaultEndpoint: true,
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

test("the demo model replies by rules or by a script", async () => {
  const byRules = await openModel(DEMO, OPTIONS)
  expect(byRules.ok && (await outcomeOf(byRules.value))).toMatchObject({ reply: { finishReason: "stop" } })
  const byScript = await openModel(DEMO, { ...OPTIONS, demoScript: [{ say: "As written." }] })
  expect(byScript.ok && (await outcomeOf(byScript.value))).toMatchObject({ reply: { content: "As written." } })
})

test("an invalid demo script is reported", async () => {
  expect(await openModel(DEMO, { ...OPTIONS, demoScript: [{ sai: "x" }] })).toEqual({
    ok: false,
    error:
      'the demo script cannot be used: step 1 has an unknown field "sai"; the known fields are say, think, call, fault, finish, wait_ms',
  })
})

describe("a login that names its endpoint", () => {
  const login = (baseUrl: string): Credential => ({
    id: "l",
    label: "login",
    secret: "token-of-the-login",
    kind: "oauth",
    source: "device_code",
    baseUrl,
  })
  const chosenAt = (baseUrl: string, usesDefaultEndpoint: boolean): ChosenModel => ({
    ...DEMO,
    runtime: { ...DEMO_RUNTIME, provider: "nous", wire: "chat_completions", baseUrl },
    usesPool: true,
    usesDefaultEndpoint,
    demoByDefault: false,
  })

  test.each([
    ["is sent there when no other address is configured", true, [0, 1]],
    ["is sent to the configured address when there is one", false, [1, 0]],
  ])("%s", async (_name, usesDefaultEndpoint, requests) => {
    await using usual = await startModelServer([says("Hello")])
    await using issuer = await startModelServer([says("Hello")])
    await using testHome = await temporaryHome()
    const opened = await openModel(chosenAt(`${usual.url}/v1`, usesDefaultEndpoint), {
      ...OPTIONS,
      home: homeAt(testHome.path, OPTIONS.environment),
      pool: () => Promise.resolve(singleCredential("nous", login(`${issuer.url}/v1`))),
    })
    expect(opened.ok && (await outcomeOf(opened.value))).toMatchObject({ reply: { content: "Hello" } })
    expect([usual.requests.length, issuer.requests.length]).toEqual(requests)
    expect([...usual.requests, ...issuer.requests][0]?.headers["authorization"]).toBe("Bearer token-of-the-login")
  })

  test("is not sent over plain HTTP to a remote host", async () => {
    await using usual = await startModelServer([says("Hello")])
    await using testHome = await temporaryHome()
    const opened = await openModel(chosenAt(`${usual.url}/v1`, true), {
      ...OPTIONS,
      home: homeAt(testHome.path, OPTIONS.environment),
      pool: () => Promise.resolve(singleCredential("nous", login("http://inference.example.com/v1"))),
    })
    expect(opened.ok && (await outcomeOf(opened.value))).toMatchObject({ reply: { content: "Hello" } })
    expect(usual.requests).toHaveLength(1)
  })
})

test("a used-up limit of Nous is recorded, and the next client sends no request", async () => {
  await using testHome = await temporaryHome()
  const headers = {
    "x-ratelimit-limit-requests": "5",
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-reset-requests": "120",
  }
  await using model = await startModelServer([refuses(429, "slow down", headers)])
  const options = { ...OPTIONS, home: homeAt(testHome.path, OPTIONS.environment) }
  const chosen: ChosenModel = {
    ...DEMO,
    runtime: { ...DEMO_RUNTIME, provider: "nous", wire: "chat_completions", baseUrl: `${model.url}/v1` },
    key: "k",
    demoByDefault: false,
  }
  for (const message of [/slow down/, /^the rate limit of nous is used up for another 2m/]) {
    const opened = await openModel(chosen, options)
    expect(opened.ok && (await outcomeOf(opened.value))).toMatchObject({
      failure: { reason: "rate_limit", message: expect.stringMatching(message) as string },
    })
  }
  expect(model.requests).toHaveLength(1)
})

test("requests keep the configured delay and wait no longer than that", async () => {
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
  const chosen: ChosenModel = { ...remote(model.url), requestDelaySeconds: 2.5 }
  const opened = await openModel(chosen, { ...OPTIONS, clock })
  if (!opened.ok) throw new Error(opened.error)
  await outcomeOf(opened.value)
  now += 500
  await outcomeOf(opened.value)
  now += 4000
  await outcomeOf(opened.value)
  expect([model.requests.length, slept]).toEqual([3, [2000]])
})

test("reported rate limits are kept until the server reports others", async () => {
  const limits = { "x-ratelimit-limit-tokens": "900", "x-ratelimit-remaining-tokens": "400" }
  await using model = await startModelServer([says("Hello.", withHeaders(limits)), says("Hello.")])
  const opened = await openModel(remote(model.url), OPTIONS)
  if (!opened.ok) throw new Error(opened.error)
  expect(opened.value.rateLimits).toEqual({})
  const reported = { tokens: { limit: 900, remaining: 400, resetSeconds: 0, capturedAt: expect.any(Number) as number } }
  for (const _turn of [1, 2]) {
    await outcomeOf(opened.value)
    expect(opened.value.rateLimits).toEqual(reported)
  }
})

test.each([
  { model: "qwen-3", kept: {} },
  { model: "deepseek-v3", kept: { reasoning_content: "Hm." } },
])("the reasoning text of $model is kept only when its wire sends it back", async ({ model: name, kept }) => {
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
    ["an estimate is replaced by confirmWindow", true, true],
    ["a value from the settings or a server stays", false, false],
  ])("%s", async (_name, windowIsGuess, changes) => {
    const opened = await openModel(claude("http://127.0.0.1:1", windowIsGuess), OPTIONS)
    if (!opened.ok) throw new Error(opened.error)
    await opened.value.confirmWindow?.({ signal: new AbortController().signal })
    expect(opened.value.runtime.contextLength !== 9000).toBe(changes)
    opened.value.close()
  })

  test("reported by a server also limits the output of the next request", async () => {
    await using testHome = await temporaryHome()
    await using model = await startModelServer([refuses(400, "maximum context length is 4096 tokens"), says("Hello")])
    const home = homeAt(testHome.path, OPTIONS.environment)
    const opened = await openModel(claude(model.url, false), { ...OPTIONS, home })
    if (!opened.ok) throw new Error(opened.error)
    expect(await outcomeOf(opened.value)).toMatchObject({ failure: { compress: true, windowTokens: 4096 } })
    expect(await outcomeOf(opened.value)).toMatchObject({ reply: { content: "Hello" } })
    expect(model.requests.map(({ body }) => body)).toMatchObject([{ max_tokens: 8999 }, { max_tokens: 4095 }])
  })
})

test("the total timeout ends a response that never stops", async () => {
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
