import { describe, expect, test } from "vitest"

import { startModelServer } from "../../../test/support/model-server/server.ts"
import type { ModelServer } from "../../../test/support/model-server/server.ts"
import {
  callsTool,
  cutsAfter,
  failsInStream,
  raw,
  refuses,
  repeat,
  reply,
  says,
} from "../../../test/support/model-server/turn.ts"
import type { Clock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import type { SettingKey } from "../../config/settings.ts"
import type { Usage } from "../../protocol/usage.ts"
import { chooseModel } from "../choose-model.ts"
import type { ModelSelection } from "../choose-model.ts"
import { openModel } from "../open-model.ts"
import { createAuxiliary } from "./auxiliary.ts"
import type { AuxiliaryCall } from "./auxiliary.ts"

const OPEN_ROUTER = "google/gemini-3-flash-preview"

describe("a reply", () => {
  test("comes from the main model when nothing else is configured", async () => {
    await using main = await startModelServer([says("A title", { usage: { input: 7, output: 2 } })])
    using side = await start({ main })
    expect(await side.call({ system: "Name it.", temperature: 0.3, maxTokens: 500 })).toEqual({
      ok: true,
      value: {
        text: "A title",
        usage: { input: 7, output: 2, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
        runtime: expect.objectContaining({ provider: "custom", model: "main-model" }),
      },
    })
    expect(main.view(0)).toMatchObject({ model: "main-model", system: "Name it.", messages: [{ text: "hello" }] })
    expect(main.requests[0]?.body).toMatchObject({ temperature: 0.3 })
    expect(main.requests[0]?.body).not.toMatchObject({ max_tokens: 500 })
  })

  test("may contain calls of the offered tools, which are not run", async () => {
    await using main = await startModelServer([callsTool("memory", { action: "add" }, { id: "c1" }), says("nothing")])
    using side = await start({ main })
    const tools = [{ name: "memory", description: "keeps facts", parameters: { type: "object" } }]
    expect(await side.call({ task: "memory_flush", tools })).toMatchObject({
      ok: true,
      value: {
        text: "",
        toolCalls: [{ id: "c1", type: "function", function: { name: "memory", arguments: '{"action":"add"}' } }],
      },
    })
    expect(await side.call({ task: "memory_flush", tools })).toMatchObject({
      value: { text: "nothing", toolCalls: [] },
    })
    expect(main.requests[0]?.body).toMatchObject({ tools: [{ function: { name: "memory" } }] })
  })

  test("reports its usage under its task, even when the server reports none", async () => {
    await using main = await startModelServer([
      says("a", { usage: { input: 7, output: 2 } }),
      refuses(400, "bad field"),
      raw('data: {"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'),
    ])
    using side = await start({ main })
    await side.call({ task: "compression" })
    await side.call({ task: "approval" })
    await side.call({ task: "title_generation" })
    expect(side.counted).toEqual([
      ["compression", { input: 7, output: 2, cacheRead: 0, cacheWrite: 0, reasoning: 0 }, "main-model"],
      ["title_generation", undefined, "main-model"],
    ])
  })

  test("has an output limit when the wire requires one or the settings set one", async () => {
    await using main = await startModelServer([says("a"), says("b")])
    using claude = await start({ main, wire: "anthropic_messages" })
    await claude.call({ maxTokens: 500 })
    using limited = await start({
      main,
      settings: { "auxiliary.compression": { max_tokens: 90, extra_body: { seed: 4 } } },
    })
    await limited.call({ maxTokens: 500 })
    expect(main.requests.map(({ wire, body }) => ({ wire, body }))).toMatchObject([
      { wire: "anthropic-messages", body: { max_tokens: 500 } },
      { wire: "chat-completions", body: { max_tokens: 90, seed: 4 } },
    ])
  })

  test("has the same shape on the Responses wire", async () => {
    await using main = await startModelServer([says("short")])
    using side = await start({ main, wire: "codex_responses" })
    expect(await side.call({})).toMatchObject({ ok: true, value: { text: "short" } })
    expect(main.requests[0]?.wire).toBe("responses")
  })

  test("with reasoning only returns the reasoning, except for an image", async () => {
    await using main = await startModelServer([repeat(reply({ reasoning: "A login bug" }))])
    using side = await start({ main, settings: { "model.supports_vision": true } })
    expect(await side.call({})).toMatchObject({ value: { text: "A login bug" } })
    expect(await side.call({ task: "vision" })).toMatchObject({ value: { text: "" } })
  })

  test("that breaks off is retried once", async () => {
    await using main = await startModelServer([says("Half a sent", cutsAfter(120)), says("A sentence")])
    using side = await start({ main })
    expect(await side.call({})).toMatchObject({ ok: true, value: { text: "A sentence" } })
    main.push(says("Half", failsInStream("server_error", "oops")), says("Whole"))
    expect(await side.call({})).toMatchObject({ ok: true, value: { text: "Whole" } })
    main.push(says("Half a sent", cutsAfter(120)), says("Half a sent", cutsAfter(120)))
    expect(await side.call({})).toMatchObject({ ok: false, error: { kind: "failed" } })
    expect(main.unanswered).toEqual([])
  })

  test.each([
    ["temperature", "Unsupported value: 'temperature' does not support 0.3 with this model.", { max_tokens: 50 }],
    ["limit", "Unsupported parameter: 'max_tokens' is not supported with this model.", { temperature: 0.3 }],
  ])("a rejected %s is left out from then on", async (_name, message, kept) => {
    await using main = await startModelServer([refuses(400, message), says("a"), says("b")])
    using side = await start({ main, settings: { "auxiliary.compression": { max_tokens: 50 } } })
    expect(await side.call({ temperature: 0.3 })).toMatchObject({ value: { text: "a" } })
    expect(await side.call({ temperature: 0.3 })).toMatchObject({ value: { text: "b" } })
    const sent = main.requests.map(({ body }) => {
      const { temperature, max_tokens } = body as Record<string, unknown>
      return max_tokens === 50 && temperature === 0.3 ? "both" : { temperature, max_tokens }
    })
    expect(sent).toEqual(["both", expect.objectContaining(kept), expect.objectContaining(kept)])
    expect(sent[1]).not.toBe("both")
  })

  test("Kimi never receives a temperature", async () => {
    await using main = await startModelServer([says("a")])
    using side = await start({ main, settings: { "model.default": "kimi-k2" } })
    await side.call({ temperature: 0.3 })
    expect(main.requests[0]?.body).not.toHaveProperty("temperature")
  })
})

describe("without a configured model", () => {
  test("without credit the next candidate is tried, and the first has a cooldown of ten minutes", async () => {
    await using main = await startModelServer([refuses(402, "Insufficient credits"), says("back")])
    await using other = await startModelServer([says("one"), says("two")])
    using side = await start({ main, other })
    expect(await side.call({})).toMatchObject({ value: { text: "one", runtime: { model: OPEN_ROUTER } } })
    side.pass(599_999)
    expect(await side.call({})).toMatchObject({ value: { text: "two", runtime: { model: OPEN_ROUTER } } })
    side.pass(1)
    expect(await side.call({})).toMatchObject({ value: { text: "back", runtime: { model: "main-model" } } })
    expect([main.requests.length, other.requests.length]).toEqual([2, 2])
    expect(side.warnings()).toEqual([])
  })

  test("a refused key has a cooldown of one minute", async () => {
    await using main = await startModelServer([refuses(401, "Invalid API key"), says("back")])
    await using other = await startModelServer([says("one"), says("two")])
    using side = await start({ main, other })
    await side.call({})
    side.pass(59_999)
    await side.call({})
    side.pass(1)
    expect(await side.call({})).toMatchObject({ value: { text: "back" } })
  })

  test("when all fail, the first reason is reported, and then the cooldowns", async () => {
    await using main = await startModelServer([refuses(402, "Insufficient credits")])
    await using other = await startModelServer([refuses(400, "bad field")])
    using side = await start({ main, other })
    expect(await side.call({})).toEqual({
      ok: false,
      error: { kind: "failed", message: expect.stringMatching(/HTTP 402.*\(then: .*HTTP 400.*bad field/) },
    })
    other.push(refuses(402, "Insufficient credits"))
    await side.call({})
    expect(await side.call({})).toEqual({
      ok: false,
      error: {
        kind: "no-provider",
        message: expect.stringMatching(/no model is available for compression \(.*HTTP 402/),
      },
    })
  })

  test("nothing is configured", async () => {
    using side = await start({})
    expect(await side.call({ task: "foo" })).toEqual({
      ok: false,
      error: {
        kind: "no-provider",
        message: "no model is available for foo; connect one with `hermes model` or set `auxiliary.foo.provider`",
      },
    })
  })

  test("the demo model does not run auxiliary tasks, even when keys exist", async () => {
    await using other = await startModelServer([])
    using side = await start({ other, demo: true, settings: { "auxiliary.compression": { provider: "openrouter" } } })
    expect(await side.call({})).toMatchObject({ ok: false, error: { kind: "no-provider" } })
    expect(other.requests).toEqual([])
  })
})

describe("the settings name a provider", () => {
  const named = (more: object = {}) => ({
    "auxiliary.compression": { provider: "openrouter", model: "small", ...more },
  })

  test.each([
    ["limits", () => refuses(429, "Too many requests", { "retry-after": "0" })],
    ["overload", () => refuses(503, "overloaded")],
  ])("%s twice: its chain, then the main model, with one warning", async (_name, busy) => {
    await using main = await startModelServer([says("one"), says("two")])
    await using other = await startModelServer([repeat(busy())])
    using side = await start({
      main,
      other,
      settings: named({ fallback_chain: [{ provider: "openrouter", model: "second" }] }),
    })
    const first = await side.call({})
    expect(first).toMatchObject({
      value: { text: "one", runtime: { model: "main-model" }, warning: side.warnings()[0] },
    })
    expect(other.requests.map((_request, index) => other.view(index).model)).toEqual([
      "small",
      "small",
      "second",
      "second",
    ])
    expect(await side.call({})).toMatchObject({ value: { text: "two" } })
    expect(side.warnings()).toHaveLength(1)
    expect(side.warnings()[0]).toMatch(
      /^the model configured for compression could not be used: openrouter .*; used main-model/,
    )
  })

  test.each([
    ["a bad request", 400, "bad field"],
    ["a wrong key", 401, "Invalid API key"],
  ])("%s is reported and no other candidate is tried", async (_name, status, message) => {
    await using main = await startModelServer([])
    await using other = await startModelServer([refuses(status, message)])
    using side = await start({ main, other, settings: named() })
    expect(await side.call({})).toEqual({
      ok: false,
      error: { kind: "failed", message: expect.stringContaining(`HTTP ${status}`) },
    })
    expect([main.requests.length, other.requests.length]).toEqual([0, 1])
    expect(side.warnings()).toHaveLength(1)
  })

  test("it is tried despite its cooldown", async () => {
    await using main = await startModelServer([says("one")])
    await using other = await startModelServer([refuses(402, "Insufficient credits"), says("two")])
    using side = await start({ main, other, settings: named() })
    expect(await side.call({})).toMatchObject({ value: { text: "one" } })
    expect(await side.call({})).toMatchObject({ value: { text: "two" } })
  })

  test("a provider without a key is reported", async () => {
    await using main = await startModelServer([])
    using side = await start({ main, settings: { "auxiliary.compression": { provider: "gemini" } } })
    expect(await side.call({})).toMatchObject({
      ok: false,
      error: { kind: "failed", message: expect.stringContaining("Google Gemini needs a key") },
    })
  })

  test("the caller's override has priority over the settings", async () => {
    await using main = await startModelServer([says("one")])
    using side = await start({ main, settings: named() })
    await side.call({ override: { provider: "main", model: "mine" } })
    expect(main.view(0).model).toBe("mine")
  })
})

describe("the end of a call", () => {
  const hangs = () => says("late", { waitsFor: new Promise(() => {}) })

  test.each<[string, object, number]>([
    ["compression", {}, 120_000],
    ["compression", { "auxiliary.compression": { timeout: 5 } }, 5000],
    ["foo", {}, 30_000],
  ])("%s with %j after %d ms", async (task, settings, limit) => {
    await using main = await startModelServer([hangs()])
    using side = await start({ main, settings })
    const answer = side.call({ task })
    await main.received(0)
    side.pass(limit - 1)
    expect(side.waiting()).toBe(1)
    side.pass(1)
    expect(await answer).toMatchObject({ ok: false, error: { kind: "timed-out" } })
    expect(await main.requests[0]?.outcome).toBe("left")
  })

  test("abort by the caller, or close", async () => {
    await using main = await startModelServer([hangs(), hangs()])
    using side = await start({ main })
    const abort = new AbortController()
    const stopped = side.call({ signal: abort.signal })
    await main.received(0)
    abort.abort()
    expect(await stopped).toEqual({ ok: false, error: { kind: "failed", message: "compression was interrupted" } })
    const closed = side.call({})
    await main.received(1)
    side[Symbol.dispose]()
    expect(await closed).toMatchObject({ ok: false, error: { kind: "failed" } })
    expect(await side.call({})).toMatchObject({ ok: false, error: { kind: "failed" } })
    expect(side.waiting()).toBe(0)
    expect(side.warnings()).toEqual([])
  })
})

interface Parts {
  /** The server of the main model; without it there is none. */
  readonly main?: ModelServer
  /** The server at OpenRouter's address; without it there is no key. */
  readonly other?: ModelServer
  readonly demo?: true
  readonly wire?: string
  readonly settings?: Partial<Record<SettingKey, unknown>>
}

async function start(parts: Parts) {
  const { main, other, settings = {} } = parts
  const environment = environmentFrom({
    HOME: "/nonexistent",
    ...(other === undefined ? {} : { OPENROUTER_API_KEY: "key", OPENROUTER_BASE_URL: `${other.url}/v1` }),
  })
  const modelSettings =
    main === undefined
      ? {}
      : { "model.base_url": `${main.url}/v1`, "model.default": "main-model", "model.api_mode": parts.wire ?? "" }
  const home = homeAt("/nonexistent/.hermes", environment)
  const config = await loadConfig({ home, environment, invocation: { ...modelSettings, ...settings } })
  const choose = (selection: ModelSelection) => chooseModel(selection, { config, environment, storedProviders: [] })
  const chosen = choose(parts.demo === true ? { provider: "demo" } : {})
  const time = handMovedClock()
  const lines: string[] = []
  const sink = { level: "WARNING", write: (line: string) => lines.push(line.replace(/^.*? hermes: /, "")) } as const
  const counted: (readonly [string, Usage | undefined, string])[] = []
  const auxiliary = createAuxiliary({
    config,
    onUsage: (task, usage, { model }) => counted.push([task, usage, model]),
    clock: time.clock,
    log: createLogger({ sinks: [sink], redact: (text) => text, clock: time.clock }),
    main: () => (chosen.ok && (main !== undefined || parts.demo === true) ? chosen.value : undefined),
    choose,
    open: (model) =>
      openModel(model, {
        environment,
        home,
        log: createLogger({ sinks: [], redact: (text) => text }),
        userHome: "/nonexistent",
        clock: { now: () => time.clock.now(), sleep: () => Promise.resolve() },
        random: () => 0,
        maxAttempts: 2,
        version: "1",
        pool: () => Promise.resolve(undefined),
        fallbacks: [],
        guardrail: {},
        awsRegion: "",
        openRouter: {},
      }),
  })
  return {
    call: (call: Partial<AuxiliaryCall>) =>
      auxiliary.call({
        task: "compression",
        messages: [{ role: "user", content: "hello" }],
        signal: new AbortController().signal,
        ...call,
      }),
    counted,
    pass: time.pass,
    waiting: time.waiting,
    warnings: () => lines,
    [Symbol.dispose]: () => {
      auxiliary.close()
    },
  }
}

/** A clock that the test advances. */
function handMovedClock() {
  let now = 0
  const sleepers = new Set<{ readonly until: number; wake(): void }>()
  const clock: Clock = {
    now: () => now,
    sleep: (ms, { signal }) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const sleeper = { until: now + ms, wake: resolve }
      sleepers.add(sleeper)
      signal.addEventListener("abort", () => {
        sleepers.delete(sleeper)
        reject(signal.reason as Error)
      })
      return promise
    },
  }
  const pass = (ms: number): void => {
    now += ms
    for (const sleeper of sleepers) {
      if (sleeper.until > now) continue
      sleepers.delete(sleeper)
      sleeper.wake()
    }
  }
  return { clock, pass, waiting: () => sleepers.size }
}
