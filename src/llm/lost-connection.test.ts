import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { describe, expect, test } from "vitest"

import { startModelServer } from "../../test/support/model-server/server.ts"
import {
  callsTool,
  cutsAfter,
  emptyStream,
  hangsUp,
  raw,
  repeat,
  says,
  stallsAfter,
} from "../../test/support/model-server/turn.ts"
import type { ScriptEntry } from "../../test/support/model-server/turn.ts"
import { createLogger } from "../base/logger.ts"
import { environmentFrom } from "../config/environment.ts"
import { homeAt } from "../config/home.ts"
import type { ChosenModel } from "./choose-model.ts"
import type { ModelEvent, ModelOutcome, ModelRequest, StreamOptions } from "./model.ts"
import { openModel } from "./open-model.ts"

interface SendOptions extends Omit<StreamOptions, "signal"> {
  readonly variables?: Readonly<Record<string, string>>
  readonly provider?: string
  readonly maxAttempts?: number
  readonly staleSeconds?: number
  /** The clock advances by this much each time it is read. */
  readonly ticksMs?: number
}

interface SendResult {
  readonly events: readonly ModelEvent[]
  readonly outcome: ModelOutcome
  readonly slept: readonly number[]
}

/** Sends one request over a real route; the clock's sleeps return at once. */
async function send(url: string, options: SendOptions = {}): Promise<SendResult> {
  const environment = environmentFrom(options.variables ?? {})
  const slept: number[] = []
  let now = 0
  const clock = {
    now: () => (now += options.ticksMs ?? 0),
    sleep: (ms: number) => {
      slept.push(ms)
      return Promise.resolve()
    },
  }
  const opened = await openModel(chosenAt(url, options), {
    clock,
    random: () => 0,
    maxAttempts: options.maxAttempts ?? 1,
    version: "1",
    environment,
    home: homeAt("/nonexistent/.hermes", environment),
    log: createLogger({ sinks: [], redact: (text) => text }),
    userHome: "/nonexistent",
    pool: () => Promise.resolve(undefined),
    fallbacks: [],
    guardrail: {},
    awsRegion: "",
    openRouter: {},
  })
  if (!opened.ok) throw new Error(opened.error)
  const request: ModelRequest = { model: "m", system: "", messages: [{ role: "user", content: "hi" }], tools: [] }
  const auxiliary = options.auxiliary === undefined ? {} : { auxiliary: options.auxiliary }
  const stream = opened.value.stream(request, { signal: new AbortController().signal, ...auxiliary })
  const events: ModelEvent[] = []
  for (;;) {
    const next = await stream.next()
    if (next.done !== true) {
      events.push(next.value)
      continue
    }
    opened.value.close()
    return { events, outcome: next.value, slept }
  }
}

function chosenAt(url: string, { provider = "custom", staleSeconds }: SendOptions): ChosenModel {
  return {
    runtime: {
      provider,
      model: "m",
      wire: "chat_completions",
      baseUrl: `${url}/v1`,
      contextLength: 100_000,
      credentialSource: "none",
      billingMode: "local",
    },
    key: undefined,
    usesPool: false,
    headers: {},
    extraBody: {},
    usesDefaultEndpoint: false,
    windowIsGuess: false,
    timeouts: staleSeconds === undefined ? {} : { staleSeconds },
    wireAssumed: false,
    demoByDefault: false,
  }
}

const CALL = callsTool("terminal", { command: "x".repeat(2000) }, cutsAfter(1200))
const OPENING = 'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n'
const BROKEN = { ...raw(`${OPENING}data: {"choices`), ...cutsAfter(OPENING.length + 10) }

describe("a stream that breaks before any text was shown", () => {
  test.each<[string, Readonly<Record<string, string>>, number]>([
    // The last request is the one over a new connection.
    ["2 times by default", {}, 4],
    ["as often as configured", { HERMES_STREAM_RETRIES: "1" }, 3],
    ["never", { HERMES_STREAM_RETRIES: "0" }, 2],
    ["2 times for an invalid number", { HERMES_STREAM_RETRIES: "many" }, 4],
  ])("is retried immediately: %s", async (_name, variables, requests) => {
    await using model = await startModelServer([repeat(BROKEN)])
    const { outcome, slept } = await send(model.url, { variables })
    expect([outcome, slept, model.requests.length]).toMatchObject([
      { kind: "failed", failure: { reason: "timeout" } },
      [4000],
      requests,
    ])
  })

  test("a successful retry emits no notice", async () => {
    await using model = await startModelServer([BROKEN, BROKEN, says("Hello")])
    const { events, outcome, slept } = await send(model.url)
    expect([events.map(({ type }) => type), outcome, slept]).toMatchObject([
      ["text-delta"],
      { reply: { content: "Hello" } },
      [],
    ])
  })

  test("inside a tool call a notice is emitted", async () => {
    await using model = await startModelServer([CALL, says("Hello")])
    const { events, outcome } = await send(model.url)
    expect([events.filter(({ type }) => type === "notice"), outcome, model.requests.length]).toMatchObject([
      [{ text: "the connection was lost during a tool call; the call was not run, retrying" }],
      { reply: { content: "Hello" } },
      2,
    ])
  })

  test("a tool call that breaks on every attempt ends with a cut-call reply", async () => {
    await using model = await startModelServer([repeat(CALL)])
    const { outcome } = await send(model.url)
    expect([outcome, model.requests.length]).toMatchObject([{ reply: { ending: "cut-call", toolCalls: [] } }, 3])
  })
})

test("text that was shown becomes the reply, without a retry", async () => {
  const text = 'data: {"choices":[{"delta":{"content":"Hello wor"}}]}\n\n'
  await using model = await startModelServer([{ ...raw(`${text}data: {`), ...cutsAfter(text.length + 7) }])
  const { outcome } = await send(model.url)
  expect([outcome, model.requests.length]).toMatchObject([{ reply: { content: "Hello wor", ending: "cut-text" } }, 1])
})

describe("when every attempt has lost the connection", () => {
  test("one more attempt over a new connection follows after a delay", async () => {
    await using model = await startModelServer([hangsUp(), hangsUp(), says("Hello")])
    const { outcome, slept } = await send(model.url, { maxAttempts: 2 })
    expect([outcome, slept]).toMatchObject([{ reply: { content: "Hello" } }, [2000, 5000]])
  })

  test("the delay is at most 8 seconds", async () => {
    await using model = await startModelServer([repeat(hangsUp())])
    const { slept } = await send(model.url, { maxAttempts: 7 })
    expect([slept.at(-1), model.requests.length]).toEqual([8000, 8])
  })

  test.each<[string, SendOptions, number]>([
    ["not for an aggregator", { provider: "openrouter" }, 2],
    ["not for an auxiliary call", { auxiliary: true }, 2],
    ["for other requests", {}, 3],
  ])("%s", async (_name, options, requests) => {
    await using model = await startModelServer([repeat(hangsUp())])
    const { outcome } = await send(model.url, { maxAttempts: 2, ...options })
    expect([outcome.kind, model.requests.length]).toEqual(["failed", requests])
  })

  test("a refused connection is not replaced by a new one", async () => {
    const gone = await startModelServer([])
    const { url } = gone
    await gone.close()
    expect((await send(url, { maxAttempts: 2 })).slept).toEqual([2000])
  })
})

describe("a response without new data for too long", () => {
  test.each<[string, ScriptEntry]>([
    ["before its first byte", says("late", { waitsFor: new Promise(() => {}) })],
    ["after its headers", says("late", stallsAfter({ bytes: 0 }))],
  ])("%s is a timeout", async (_name, turn) => {
    await using model = await startModelServer([turn, turn])
    const { outcome } = await send(model.url, { staleSeconds: 0.06 })
    expect([outcome, model.requests.length]).toMatchObject([{ failure: { reason: "timeout", retryable: true } }, 2])
    expect(await model.requests[0]?.outcome).toBe("left")
  })

  test("even when the server sends keep-alive comments", async () => {
    const server = createServer((incoming, response) => {
      incoming.resume()
      response.writeHead(200, { "content-type": "text/event-stream" })
      const timer = setInterval(() => response.write(": still there\n\n"), 10)
      response.on("close", () => {
        clearInterval(timer)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { outcome } = await send(url, { staleSeconds: 0.1, auxiliary: true })
    expect(outcome).toMatchObject({ failure: { reason: "timeout", detail: "no data arrived for 0.1 s" } })
    await new Promise((resolve) => server.close(resolve))
  })
})

describe("an empty response after all attempts", () => {
  const sentence = "answered with an empty stream; check that the address is a model server"
  test.each<[string, number, string]>([
    [
      "at once",
      1000,
      `${sentence} (if it is, it probably limits the number of requests, because the answer came at once)`,
    ],
    ["after a while", 30_000, sentence],
    [
      "after a long time",
      61_000,
      `${sentence} (if it is, the server behind it probably timed out, because the answer took long)`,
    ],
  ])("%s", async (_name, ticksMs, message) => {
    await using model = await startModelServer([emptyStream()])
    const { outcome } = await send(model.url, { ticksMs })
    expect(outcome.kind === "failed" && outcome.failure.message).toBe(`custom at ${model.url}/v1 ${message}`)
  })

  test.each([
    [500, " (the problem is on the provider's side; try again later)"],
    [504, " (the server behind it took too long; try again later)"],
    [524, " (the server behind it took too long; try again later)"],
    [503, ". Try again in a moment"],
  ])("with status %i", async (status, end) => {
    await using model = await startModelServer([{ kind: "status", status, message: "no" }])
    const { outcome } = await send(model.url)
    expect(outcome.kind === "failed" && outcome.failure.message.endsWith(end)).toBe(true)
  })
})
